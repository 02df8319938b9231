/** The demo into both warehouses: the same rows in both, and what is changed by hand in one is found. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBigQueryEmulator } from '../../src/local/bigquery/emulator.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { makeCheapEmulator } from '../support/bigquery.ts';
import { isLoopback, listeningOf } from '../support/listening.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';

const main = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;
/** Where the demo's receiver would listen. */
const usualPort = 8780;
const byHand = 'written by hand';

interface Run {
  readonly code: number | null;
  readonly stderr: string;
  readonly result: {
    readonly calls: number;
    readonly rows: Record<string, number>;
    readonly truth: Record<string, number>;
    readonly equal: Record<string, { readonly rows: number; readonly different: number }>;
  };
}

/** @param onAddress told every address on which the demo or a server that it started is seen listening. */
const runDemo = async (folder: string, onAddress?: (address: string) => void): Promise<Run> => {
  const env = { ...process.env, CALLSYNC_BQEMULATOR: await makeCheapEmulator(folder) };
  const args = ['demo', '--warehouse', 'both', '--exit', '--json', '--calls', '60', '--data-dir', folder];
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new AbortController();
  const watch = onAddress === undefined ? undefined : watchAddresses(child.pid as number, onAddress, ended.signal);
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  ended.abort();
  await watch;
  const last = said.stdout.trim().split('\n').at(-1) ?? '';
  return { code, stderr: said.stderr, result: last === '' ? {} : JSON.parse(last) };
};

/** One look after the other: each reads what every process has open. */
const watchAddresses = async (pid: number, onAddress: (address: string) => void, ended: AbortSignal): Promise<void> => {
  while (!ended.aborted) {
    for (const address of await listeningOf(pid)) onAddress(address);
    await delay(500, undefined, { signal: ended }).catch(() => undefined);
  }
};

/** Takes the port, unless somebody else has it, which serves as well. */
const take = async (port: number): Promise<() => Promise<void>> => {
  // Whoever looks at the port is sent away at once: the server closes only when nobody is connected.
  const server = createServer((socket) => socket.destroy());
  const listens = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  return async () => {
    if (listens) await new Promise((resolve) => server.close(resolve));
  };
};

describe('callsync demo --warehouse both', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'callsync-demo-both-'));
    await chmod(folder, 0o711);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('loads the same rows into both, finds its data again, and tells what was changed in one of them', async () => {
    const release = await take(usualPort);
    const listening = new Set<string>();
    const first = await runDemo(folder, (address) => listening.add(address)).finally(release);
    expect(first.code, first.stderr).toBe(0);
    const { result } = first;
    expect(result.truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    const tables = ['calls', 'utterances', 'tags', 'metadata', 'udfs', 'contacts', 'deliveries'];
    const { redactions, ...equal } = result.equal;
    // The demo has no privacy rules.
    expect(redactions).toEqual({ rows: 0, different: 0 });
    expect(Object.keys(equal).sort()).toEqual([...tables].sort());
    for (const [table, { rows, different }] of Object.entries(equal)) {
      expect(different, table).toBe(0);
      expect(rows, table).toBe(result.rows[table]);
      expect(rows, table).toBeGreaterThan(0);
    }
    expect([...listening].filter((address) => !isLoopback(address))).toEqual([]);
    if (process.platform === 'linux') expect(listening.size).toBeGreaterThan(5);

    const changed = await changeByHand(join(folder, 'demo-both', 'bigquery'), byHand);
    const second = await runDemo(folder);
    expect(second.code, JSON.stringify(second.result.equal) + second.stderr).toBe(5);
    // The truth was checked in Postgres.
    expect(second.result.truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    expect(second.result.calls).toBeGreaterThanOrEqual(result.calls);
    const told = [...second.stderr.matchAll(/Table tags, row call_id=(\S+) tag_index=0: differs in display_name\./g)];
    expect(told.length).toBeGreaterThan(0);
    expect(changed).toEqual(expect.arrayContaining(told.map(([, callId]) => callId)));
    expect(second.stderr).not.toContain(byHand);
    // The second run repeats no edit of the first: what was edited changes back, and its rows are written again.
    expect(second.result.equal.tags?.different).toBeGreaterThan(0);
    expect(second.result.equal.tags?.different).toBeLessThanOrEqual(changed.length);
    const others = Object.entries(second.result.equal).filter(([table]) => table !== 'tags');
    expect(others.map(([, { different }]) => different)).toEqual(others.map(() => 0));
  }, 900_000);
});

/** One value of each of 20 calls in the stopped demo's BigQuery. Returns the calls. */
const changeByHand = async (dataDir: string, text: string): Promise<string[]> => {
  const emulator = await startBigQueryEmulator({ dataDir });
  const place = { project: emulator.project, api_endpoint: emulator.restUrl };
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', ...place });
  try {
    const rows = await executeIn(config, 'SELECT call_id FROM tags WHERE tag_index = 0 ORDER BY call_id LIMIT 20');
    const callIds = rows.map((row) => row.call_id as string);
    const list = callIds.map((callId) => `'${callId}'`).join(', ');
    await executeIn(config, `UPDATE tags SET display_name = '${text}' WHERE tag_index = 0 AND call_id IN (${list})`);
    return callIds;
  } finally {
    await emulator.stop();
  }
};
