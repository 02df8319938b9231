import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderConfigExample } from '../../scripts/config-pages.ts';
import { renderGeneratedFiles } from '../../scripts/generated-files.ts';
import { checkConfig } from '../../src/config/load.ts';
import { configJsonSchema, type SchemaNode } from '../../src/config/schema-node.ts';

const root = resolve(import.meta.dirname, '../..');
const sample = { source: { base_url: 'https://api.example.com' } };

const files = await renderGeneratedFiles(root);

test.each(Object.entries(files))('generated files %s is current (npm run generate)', (name, text) => {
  expect(readFileSync(join(root, name), 'utf8')).toBe(text);
});

describe('callsync.example.yaml', () => {
  test('is valid and says nothing but the defaults', () => {
    expect(checkConfig(parse(renderConfigExample()), 'example')).toEqual(checkConfig(sample, 'defaults'));
  });

  test('stays valid YAML when everything is switched on', () => {
    const on = renderConfigExample().replaceAll(/^( *)#(?=[a-z-])/gm, '$1');
    expect(() => parse(on, { uniqueKeys: false })).not.toThrow();
  });

  test('has every key of the schema with its description', () => {
    const example = renderConfigExample();
    for (const { key, description } of collectKeys(configJsonSchema())) {
      expect(example).toMatch(new RegExp(`^ *#?(- )?${key}:`, 'm'));
      expect(description, `description of ${key}`).toBeTruthy();
    }
  });
});

const collectKeys = (node: SchemaNode): { key: string; description: string | undefined }[] => {
  const nested = [...(node.oneOf ?? []), ...(node.anyOf ?? []), node.items, node.additionalProperties];
  return [
    ...Object.entries(node.properties ?? {}).flatMap(([key, child]) => [
      ...(child.const === undefined ? [{ key, description: child.description }] : []),
      ...collectKeys(child),
    ]),
    ...nested.flatMap((child) => (typeof child === 'object' ? collectKeys(child) : [])),
  ];
};
