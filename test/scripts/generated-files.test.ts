/** Generated files (`npm run generate`) are current; the page of errors knows every code. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { renderConfigExample } from '../../scripts/config-pages.ts';
import { findErrorCodes, meanings } from '../../scripts/error-codes.ts';
import { renderGeneratedFiles } from '../../scripts/generated-files.ts';
import { reportFailure } from '../../src/cli/shell/output.ts';
import { checkConfig } from '../../src/config/load.ts';
import { configJsonSchema, type SchemaNode } from '../../src/config/schema-node.ts';
import { errorCodes, nextSteps } from '../../src/lib/error-codes.ts';
import { transient } from '../../src/lib/errors.ts';
import { read, root } from '../support/repository.ts';

const sample = { source: { base_url: 'https://api.example.com' } };

const files = await renderGeneratedFiles(root);

test.each(Object.entries(files))('generated files %s is current (npm run generate)', (name, text) => {
  expect(read(name)).toBe(text);
});

test('a copy of callsync.example.yaml sets what is required, and freezes no default', () => {
  expect(parse(renderConfigExample())).toEqual(sample);
});

test('the defaults that the schema shows are those of a configuration without the keys', () => {
  const shown = (node: SchemaNode): unknown =>
    node.default === undefined || node.properties === undefined
      ? node.default
      : { ...(node.default as object), ...shownBelow(node) };
  const shownBelow = ({ properties = {} }: SchemaNode): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(properties).flatMap(([key, node]) => (shown(node) === undefined ? [] : [[key, shown(node)]])),
    );
  const written = shownBelow(configJsonSchema());
  const source = { ...shownBelow(configJsonSchema().properties?.source as SchemaNode), ...sample.source };
  expect(checkConfig({ ...written, source }, 'defaults')).toEqual(checkConfig(sample, 'nothing'));
});

test('callsync.example.yaml stays valid YAML when everything is switched on', () => {
  const on = renderConfigExample().replaceAll(/^( *)#(?=[a-z-])/gm, '$1');
  expect(() => parse(on, { uniqueKeys: false })).not.toThrow();
});

test('callsync.example.yaml has every key of the schema with its description', () => {
  const example = renderConfigExample();
  const keys = collectKeys(configJsonSchema());
  for (const { key, description } of keys) {
    const times = keys.filter((each) => each.key === key).length;
    expect(example.match(new RegExp(`^ *#?(- )?${key}:`, 'gm'))?.length ?? 0, key).toBeGreaterThanOrEqual(times);
    expect(description, `description of ${key}`).toBeTruthy();
  }
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

const codes = findErrorCodes(root);

test('says of every code what it means and what to do, and the table has none that nothing throws', () => {
  const idle = codes.filter(({ code, says }) => says.every(({ hint }) => hint === undefined) && !nextSteps.has(code));
  const silent = codes.filter(({ code, says }) => says.length === 0 && !meanings[code]);
  expect([...idle, ...silent].map(({ code }) => code)).toEqual([]);
  const known = new Set(codes.map(({ code }) => code));
  expect([...errorCodes.keys()].filter((code) => !known.has(code))).toEqual([]);
});

test('a failing command prints the next step that the page has', () => {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => void written.mockRestore());
  reportFailure(transient('SERVICE_UNREACHABLE', 'https://api.example.com does not answer.'), true);
  const { error } = JSON.parse(String(written.mock.calls[0]?.[0]));
  expect(error.hint).toBe(nextSteps.get('SERVICE_UNREACHABLE'));
});
