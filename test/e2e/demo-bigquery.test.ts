/** The demo into BigQuery. The conformance tests compare both warehouses. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { makeCheapEmulator } from '../support/bigquery.ts';
import { useFolder } from '../support/folder.ts';
import { isLoopback, listeningOf, takePorts } from '../support/listening.ts';
import { startProgram } from '../support/program.ts';

/** Where the demo's receiver would listen. */
const usualPort = 8780;

/** Notes every address on which the process or a server that it started is seen listening. Each look reads what every process has open. */
const watchAddresses = async (pid: number, seen: Set<string>, ended: AbortSignal): Promise<void> => {
  while (!ended.aborted) {
    for (const address of await listeningOf(pid)) seen.add(address);
    await delay(2_500, undefined, { signal: ended }).catch(() => undefined);
  }
};

const folder = useFolder('demo-bigquery');

test('callsync demo --warehouse bigquery loads every call, and listens on loopback alone', async () => {
  onTestFinished(takePorts(usualPort).close);
  const args = ['demo', '--warehouse', 'bigquery', '--exit', '--json', '--calls', '40', '--data-dir', folder];
  const demo = startProgram(args, { env: { ...process.env, CALLSYNC_BQEMULATOR: await makeCheapEmulator(folder) } });
  const listening = new Set<string>();
  const ended = new AbortController();
  const watch = watchAddresses(demo.child.pid as number, listening, ended.signal);
  const code = await demo.ended;
  ended.abort();
  await watch;
  expect(code, `${demo.stderr()}${demo.stdout()}`).toBe(0);
  const result = JSON.parse(demo.stdout().trim().split('\n').at(-1) ?? '');
  expect(result.truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
  for (const table of ['calls', 'utterances', 'tags', 'metadata', 'udfs', 'contacts', 'deliveries'])
    expect(result.rows[table], table).toBeGreaterThan(0);
  // The demo has no privacy rules.
  expect(result.rows.redactions).toBe(0);
  expect([...listening].filter((address) => !isLoopback(address))).toEqual([]);
  if (process.platform === 'linux') expect(listening.size).toBeGreaterThan(5);
});
