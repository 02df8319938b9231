/** Every error code has its entry in docs/reference/errors.md, and every message its next step. */
import { resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findErrorCodes, meanings, renderTroubleshooting } from '../../scripts/error-codes.ts';
import { nextSteps } from '../../src/cli/shell/error-notes.ts';
import { reportFailure } from '../../src/cli/shell/output.ts';
import { transient } from '../../src/lib/errors.ts';

const root = resolve(import.meta.dirname, '../..');
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
