/** Calls to be read again from a list that has no endpoint for one call. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Observation } from '../../../schemas/observation.ts';
import { judge } from '../../../src/health/conditions.ts';
import { readHealth } from '../../../src/health/read-health.ts';
import type { ReadDeps } from '../../../src/pipeline/deps.ts';
import { rereadCalls } from '../../../src/pipeline/read/reread-calls.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import type { Source } from '../../../src/source/source.ts';
import { requestRereads } from '../../../src/store/delivery/inbox.ts';
import { readSimulated, simulatedSource, wholeRange } from '../../source/simulated.ts';
import { observationOf, usePipeline } from '../../support/pipeline.ts';
import { settledRange } from '../../support/settled-range.ts';

const pipeline = usePipeline();
let simulator: Awaited<ReturnType<typeof startSimulator>>;
let source: Source;
let deps: ReadDeps;
beforeAll(async () => {
  simulator = await startSimulator({
    dialect: 'page_total',
    rateLimit: { requests: 0 },
    calls: { count: 200, utterances: 2, ...settledRange },
  });
  const second = 1_000_000;
  source = await simulatedSource(simulator, {
    list: {
      records: 'calls',
      total_path: 'meta.total',
      pagination: { style: 'page', size_param: 'per_page', size: 100 },
      cursor_fields: [{ name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' }],
    },
    limits: { requests: 1_000_000 },
  });
  deps = { ...pipeline.deps, source, windows: { initial: second, min: second, max: second, targetCalls: 10 } };
});
afterAll(async () => {
  await source?.close();
  await simulator?.stop();
});

const ask = () => rereadCalls(deps, new AbortController().signal);
const figures = async () => {
  const { count, unanswered } = (await readHealth(pipeline.store)).rereads;
  return { rereadsWaiting: count, rereadsUnanswered: unanswered };
};
const ingestAndLoad = (...observations: readonly Observation[]) => pipeline.observe(observations);
/** A webhook with another status than the list has of a listed call. */
const seen = async () => {
  const [first] = (await readSimulated(source, wholeRange(simulator, 'timestamp'))).seen.values();
  const { callId, fields, observedAt } = first ?? observationOf('none', 0);
  await ingestAndLoad(observationOf(callId, observedAt - 1, { ...fields, status: 'as the webhook said' }, 'webhook'));
  return { callId, status: fields.status };
};
const statusOf = async (callId: string) => (await pipeline.rowOf(callId))?.document?.status;

describe('a list without an endpoint for one call', () => {
  test('answers by the window in which the call lies', async () => {
    const { callId, status } = await seen();
    await requestRereads(pipeline.store, [callId], 'repeat');
    expect(await figures()).toEqual({ rereadsWaiting: 1, rereadsUnanswered: 0 });
    expect(await ask()).toEqual({ reread: 1, failed: 0 });
    expect(await statusOf(callId)).toBe(status);
    expect(await figures()).toEqual({ rereadsWaiting: 0, rereadsUnanswered: 0 });
  });

  test('what it cannot answer is shown, until a reading of the list has', async () => {
    const { callId } = await seen();
    const nobody = observationOf('nobody', 5, { timestamp: '2023-12-04T15:18:29Z' }, 'webhook');
    await ingestAndLoad(nobody, observationOf('timeless', 5, {}, 'webhook'));
    await requestRereads(pipeline.store, ['nobody', 'timeless', callId], 'repeat');
    expect(await ask()).toEqual({ reread: 1, failed: 2 });
    for (let attempt = 2; attempt <= 10; attempt += 1) {
      // No wait can end for a call whose time nobody can read.
      expect(await figures()).toEqual({ rereadsWaiting: 1, rereadsUnanswered: 1 });
      await ask();
    }
    expect(await figures()).toEqual({ rereadsWaiting: 0, rereadsUnanswered: 2 });
    const [wrong] = judge(await readHealth(pipeline.store)).filter((one) => one.condition === 'reread_unanswered');
    const command = 'callsync backfill --force --from DATE';
    expect(wrong).toMatchObject({ summary: expect.stringContaining('2 calls'), command });
    const later = (Date.now() + 3_600_000) * 1000;
    await ingestAndLoad(observationOf('nobody', later), observationOf('timeless', later, {}, 'webhook'));
    expect(await ask()).toEqual({ reread: 0, failed: 0 });
    expect(await figures()).toEqual({ rereadsWaiting: 0, rereadsUnanswered: 1 });
    await requestRereads(pipeline.store, ['timeless'], 'repeat');
    expect(await figures()).toEqual({ rereadsWaiting: 1, rereadsUnanswered: 0 });
  });
});
