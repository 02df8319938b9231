/** Every error code has its entry in docs/troubleshooting.md. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { findErrorCodes, renderTroubleshooting } from '../../scripts/error-codes.ts';

const root = resolve(import.meta.dirname, '../..');
const codes = findErrorCodes(root);

test('the page is written from the source as it is', () => {
  expect(readFileSync(`${root}/docs/troubleshooting.md`, 'utf8')).toBe(renderTroubleshooting(root));
});

test('finds codes of calls and of tables, with what they say', () => {
  expect(codes.length).toBeGreaterThan(90);
  const of = (code: string) => codes.find((one) => one.code === code);
  expect([...(of('OPERATIONS_PORT_TAKEN')?.messages ?? [])]).toEqual(['Health and metrics cannot be served on …:….']);
  expect([...(of('OPERATIONS_PORT_TAKEN')?.hints ?? [])]).toEqual([
    'Set operations.listen and operations.port to an address of this machine that is free.',
  ]);
  for (const code of ['CONFIG_INVALID', 'TOKEN_REFUSED', 'BIGQUERY_QUOTA', 'DATABASE_UNREACHABLE', 'NO_WORKER']) {
    expect(of(code), code).toBeDefined();
  }
});

test('says something helpful of all but those whose message names the cause', () => {
  const silent = codes.filter(({ messages, hints }) => messages.size + hints.size === 0);
  expect(silent.length / codes.length).toBeLessThan(0.2);
});
