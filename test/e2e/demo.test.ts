/** The demo command as a user runs it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const main = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;

const run = async (args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> => {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
};

describe('callsync demo', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'callsync-demo-'));
    await chmod(folder, 0o711);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('ends with the truth intact, and a second start finds its data again', async () => {
    const args = ['demo', '--exit', '--json', '--calls', '150', '--data-dir', folder];
    const first = await run(args);
    expect(first.code, first.stderr).toBe(0);
    const result = JSON.parse(first.stdout.trim().split('\n').at(-1) ?? '');
    expect(result.truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    expect(result.truth.calls).toBeGreaterThan(130);
    expect(result.rows.calls).toBe(result.calls);
    expect(result.rows.words).toBeGreaterThan(1_000);
    expect(Object.keys(result.seconds)).toEqual(
      expect.arrayContaining(['start', 'backfill', 'live', 'check', 'total']),
    );
    expect(first.stderr).not.toMatch(/\n\s+at /);

    const second = await run(args);
    expect(second.code, second.stderr).toBe(0);
    const again = JSON.parse(second.stdout.trim().split('\n').at(-1) ?? '');
    expect(again.truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    expect(again.calls).toBeGreaterThanOrEqual(result.calls);
  }, 600_000);
});
