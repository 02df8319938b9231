/** Generated files (`npm run generate`) are current; the page of errors knows every code, that of the cookbook has results. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { renderConfigExample } from '../../scripts/config-pages.ts';
import { renderCookbookPage } from '../../scripts/cookbook-page.ts';
import { findErrorCodes, meanings, renderTroubleshooting } from '../../scripts/error-codes.ts';
import { renderGeneratedFiles } from '../../scripts/generated-files.ts';
import { nextSteps } from '../../src/cli/shell/error-notes.ts';
import { reportFailure } from '../../src/cli/shell/output.ts';
import { checkConfig } from '../../src/config/load.ts';
import { configJsonSchema, type SchemaNode } from '../../src/config/schema-node.ts';
import { transient } from '../../src/lib/errors.ts';
import { cookbook } from '../../src/marts/cookbook.ts';
import { read, root } from '../support/repository.ts';

const sample = { source: { base_url: 'https://api.example.com' } };

const files = await renderGeneratedFiles(root);

test.each(Object.entries(files))('generated files %s is current (npm run generate)', (name, text) => {
  expect(read(name)).toBe(text);
});

test('callsync.example.yaml is valid and says nothing but the defaults', () => {
  expect(checkConfig(parse(renderConfigExample()), 'example')).toEqual(checkConfig(sample, 'defaults'));
});

test('callsync.example.yaml stays valid YAML when everything is switched on', () => {
  const on = renderConfigExample().replaceAll(/^( *)#(?=[a-z-])/gm, '$1');
  expect(() => parse(on, { uniqueKeys: false })).not.toThrow();
});

test('callsync.example.yaml has every key of the schema with its description', () => {
  const example = renderConfigExample();
  for (const { key, description } of collectKeys(configJsonSchema())) {
    expect(example).toMatch(new RegExp(`^ *#?(- )?${key}:`, 'm'));
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

test('every question has a result', () => {
  const sections = renderCookbookPage(root).split('\n## ').slice(1);
  expect(sections).toHaveLength(cookbook.length);
  for (const section of sections) expect(section.split('```').at(-1)).toMatch(/\n\| --- .*\n\| [^-]/);
});

const codes = findErrorCodes(root);

test('finds codes of calls and of tables, with what they say', () => {
  expect(codes.length).toBeGreaterThan(90);
  const of = (code: string) => codes.find((one) => one.code === code);
  expect(of('OPERATIONS_PORT_TAKEN')?.says).toEqual([
    {
      message: 'Health and metrics cannot be served on …:….',
      hint: 'Set operations.listen and operations.port to a free address of this machine.',
    },
  ]);
  for (const code of ['CONFIG_INVALID', 'TOKEN_REFUSED', 'BIGQUERY_QUOTA', 'DATABASE_UNREACHABLE', 'NO_WORKER'])
    expect(of(code), code).toBeDefined();
});

test('says of every code what it means and what to do, and notes none that is not there', () => {
  const idle = codes.filter(({ code, says }) => says.every(({ hint }) => hint === undefined) && !(code in nextSteps));
  const silent = codes.filter(({ code, says }) => says.length === 0 && !meanings[code]);
  expect([...idle, ...silent].map(({ code }) => code)).toEqual([]);
  const known = new Set(codes.map(({ code }) => code));
  expect(Object.keys({ ...nextSteps, ...meanings }).filter((code) => !known.has(code))).toEqual([]);
});

test('says of errors that only commands make that nothing tries them again', () => {
  const page = renderTroubleshooting(root);
  const saysOf = (code: string) => page.split(`### ${code}\n`)[1]?.split('\n##')[0];
  for (const code of ['GO_LIVE_EMPTY', 'GO_LIVE_OVERLAP', 'NO_WORKER', 'PROOF_UNANSWERED', 'DEMO_NOT_SETTLED']) {
    expect(saysOf(code)).toContain('Run the command again.');
    expect(saysOf(code)).not.toContain('retries automatically');
  }
  expect(saysOf('SERVICE_UNAVAILABLE')).toContain('retries automatically');
});

test('a failing command prints the next step that the page has', () => {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => void written.mockRestore());
  reportFailure(transient('SERVICE_UNREACHABLE', 'https://api.example.com does not answer.'), true);
  const { error } = JSON.parse(String(written.mock.calls[0]?.[0]));
  expect(error.hint).toBe(nextSteps.SERVICE_UNREACHABLE);
});
