/** A backfill during which its worker is killed once, and the Temporal server some number of times; then another over the same. */
import type { ChildProcess } from 'node:child_process';
import { expect } from 'vitest';
import { measureHistories } from '../../bench/load/measure-history.ts';
import { progressQuery } from '../../workflows/messages.ts';
import { digestTables } from '../support/digest-tables.ts';
import { endProcess, type Installation, installForTest } from '../support/installation.ts';
import { settledRange } from '../support/settled-range.ts';
import { temporalForTest } from '../support/temporal.ts';
import { until } from '../support/until.ts';

const callsPerWindow = 50;

/**
 * The backfill is held where it is by the requests that it is granted, so that half of it is left after the last kill.
 * `shareLeft`: of its requests, those that were still to be made at the last restart.
 */
export const killTemporalDuringBackfill = async (kills: number, calls: number) => {
  const server = await temporalForTest();
  const site = await installForTest({
    temporalAddress: server.address,
    simulator: { seed: 9, calls: { count: calls, utterances: 4, ...settledRange } },
    // A request that waits for its grant does not time out.
    source: { limits: { requests: 5, per_s: 1, headers_timeout_s: 600, total_timeout_s: 600 } },
    config: { sync: { window: { target_calls: callsPerWindow } } },
  });
  const { gate, startWorker } = site;
  let printed = '';
  const listen = async (): Promise<ChildProcess> => {
    const worker = await startWorker();
    worker.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')));
    return worker;
  };
  const worker = await listen();
  // A window takes a request for its total and one for its page; how many windows there are varies by one.
  const share = Math.floor((calls / callsPerWindow - 1) / kills);
  expect(share).toBeGreaterThan(2);

  gate.shut();
  const { workflowId } = await site.backfill('killed');
  for (let kill = 0; kill < kills; kill += 1) {
    // The rest of the share is read while the server is away.
    const at = gate.passed() + 1 + Math.floor(Math.random() * (share - 1));
    gate.grant(share);
    await until(`work goes on before kill ${kill + 1}`, () => gate.passed() >= at);
    if (kill === 0) {
      await endProcess(worker, 'SIGKILL');
      await listen();
    }
    await server.restart();
  }
  const restarted = performance.now();
  const handle = site.client.workflow.getHandle(workflowId);
  expect((await handle.describe()).status.name).toBe('RUNNING');
  const before = gate.passed();
  gate.open();
  /** Only the client's own connection may suffer. */
  const end = (): Promise<unknown> =>
    handle.result().catch((error: Error) => {
      if (!/UNAVAILABLE|DEADLINE|connect|reset|dropped/i.test(`${error}${error.cause}`)) throw error;
      return end();
    });
  await end();
  const secondsAfterLastRestart = (performance.now() - restarted) / 1000;
  expect(await handle.query(progressQuery)).toMatchObject({ state: 'done', totals: { problems: 0 } });
  // Warnings of the SDK's core while the server is away are no result.
  expect(printed).toBe('');
  expect(await site.checkTruth()).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });

  const loaded = await digestTables(site.warehouse);
  const read = gate.passed();
  const begin = performance.now();
  const again = await (await site.backfill('again', { force: true })).result;
  const secondsUndisturbed = (performance.now() - begin) / 1000;
  const shareLeft = 1 - before / (gate.passed() - read);
  expect(again.totals.changed).toBe(0);
  expect(again.totals.calls).toBeGreaterThan(calls * 0.8);
  expect(await digestTables(site.warehouse)).toEqual(loaded);
  expect((await (await site.backfill('skipped')).result).totals.calls).toBe(0);
  await expectNoPayload(site);
  const figures = { kills, shareLeft, secondsAfterLastRestart, secondsUndisturbed };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(shareLeft).toBeGreaterThanOrEqual(0.5);
  return figures;
};

/** No transcript text and no phone number may stand in any history, in clear or inside a payload. */
const expectNoPayload = async ({ client, prefix, store }: Installation): Promise<void> => {
  const said = await store.column<string>`(SELECT content FROM calls.utterances WHERE length(content) > 20 LIMIT 50)
     UNION ALL (SELECT data FROM calls.contacts WHERE phone IS NOT NULL LIMIT 50)`;
  expect(said.length).toBeGreaterThan(20);
  // The check can fail: what does stand in a history is found once visibility lists the backfills.
  let encoded: readonly Buffer[] = [];
  await until('visibility lists the backfills', async () => {
    encoded = (await measureHistories(client, prefix)).map((one) => one.encoded);
    return encoded.some((history) => history.includes('readRangePart'));
  });
  for (const text of said) expect(encoded.some((history) => history.includes(text))).toBe(false);
};
