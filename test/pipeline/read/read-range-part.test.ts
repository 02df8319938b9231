import { beforeAll, describe, expect, test } from 'vitest';
import type { SourceConfigInput } from '../../../schemas/config/source.ts';
import type { Direction } from '../../../schemas/orchestration.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import { judge } from '../../../src/health/conditions.ts';
import { readHealth } from '../../../src/health/read-health.ts';
import type { ReadDeps } from '../../../src/pipeline/deps.ts';
import { nextLength, type RangePartProgress } from '../../../src/pipeline/read/read-range-part.ts';
import { rereadCalls } from '../../../src/pipeline/read/reread-windows.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import { requestRereads } from '../../../src/store/delivery/inbox.ts';
import { uncoveredRanges } from '../../../src/store/windows/windows.ts';
import { countRows } from '../../../src/warehouse/digest.ts';
import { listedIds, readPart, readSimulated, simulatedSource, wholeRange } from '../../source/simulated.ts';
import { digestTables } from '../../support/digest-tables.ts';
import { useOpened } from '../../support/opened.ts';
import { observationOf, usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';
import { settledRange } from '../../support/settled-range.ts';

type PartInput = Parameters<typeof readPart>[1];

const directions: readonly Direction[] = ['oldest_first', 'newest_first'];

test('the next window is no shorter than a step of the service, which would be read again and again', () => {
  const list = { time_format: 'iso', time_resolution_ms: 2_000 };
  const windows = { initial: 1_000_000, min: 100_000, max: 50_000_000, targetCalls: 500 };
  const deps = { windows, source: { list: { list } } } as unknown as ReadDeps;
  expect([nextLength(1_000_000, 20_000, deps), nextLength(50_000_000, 0, deps)]).toEqual([2_000_000, 50_000_000]);
});

const pipeline = usePipeline();
/** A simulated service, and a source that reads its list. */
const useService = (options: SimulatorOptions, list: NonNullable<SourceConfigInput['list']>) =>
  useOpened(
    async () => {
      const simulator = await startSimulator({ rateLimit: { requests: 0 }, ...options });
      return { simulator, source: await simulatedSource(simulator, { list, limits: { requests: 1_000_000 } }) };
    },
    async ({ simulator, source }) => {
      await source.close();
      await simulator.stop();
    },
  );

describe('against the simulated service', () => {
  const service = useService(
    { calls: { count: 800, utterances: 2, words: 3, tags: 1, ...settledRange } },
    { preset: 'activate' },
  );
  let deps: ReadDeps;
  let expected: ReadonlySet<string>;
  beforeAll(async () => {
    const hour = 3_600_000_000;
    const windows = { initial: 6 * hour, min: hour / 60, max: 240 * hour, targetCalls: 150 };
    deps = { ...pipeline.deps, source: service.source, windows };
    expected = await listedIds(service.simulator, ['qualified', 'void']);
  });
  const input = (more: Partial<PartInput> = {}) => {
    const { axis, ...range } = wholeRange(service.simulator, 'qualified');
    return { axis, range, force: false, maxCalls: 100, ...more };
  };
  const heldIds = async () => new Set(await column(pipeline.store, 'SELECT call_id FROM ledger'));

  /** Range part after part; some are cut off in the middle and taken up again from their last progress. */
  const readAll = async (first: PartInput, cutEvery = 0) => {
    let cut = 0;
    const all = { parts: 0, changed: 0, skippedSeconds: 0 };
    for (let next: PartInput | undefined = first; next !== undefined; ) {
      const one: PartInput = next;
      const stop = new AbortController();
      let resume: RangePartProgress | undefined;
      const onProgress = (progress: RangePartProgress) => {
        resume = progress;
        cut += 1;
        if (cutEvery > 0 && cut % cutEvery === 0) stop.abort(new Error('killed'));
      };
      const { totals, rest, windowLength } = await readPart(deps, one, { signal: stop.signal, onProgress }).catch(
        (error) => {
          if (!stop.signal.aborted) throw error;
          return readPart(deps, one, resume && { resume });
        },
      );
      all.parts += 1;
      all.changed += totals.changed;
      all.skippedSeconds += totals.skippedSeconds ?? 0;
      next = rest === null ? undefined : { ...one, range: rest, windowLength };
    }
    return all;
  };

  test.each(directions)(
    '%s: every call once, every instant covered, and a second run asks for nothing',
    async (direction) => {
      const { parts, changed } = await readAll(input({ direction }));
      expect(parts).toBeGreaterThan(3);
      expect(changed).toBe(expected.size);
      expect(await heldIds()).toEqual(expected);
      expect((await countRows(pipeline.warehouse)).calls).toBe(expected.size);
      const { axis, range } = input();
      expect(await uncoveredRanges(pipeline.store, { axis, ...range })).toEqual([]);
      const requests = service.source.list.counts.requests;
      const skippedSeconds = expect.closeTo((range.to - range.from) / 1_000_000, 3);
      expect(await readAll(input({ direction }))).toMatchObject({ changed: 0, skippedSeconds });
      expect(service.source.list.counts.requests).toBe(requests);
      const digests = await digestTables(pipeline.warehouse);
      const again = await readAll(input({ direction, force: true, maxCalls: 100_000 }));
      expect(again).toEqual({ parts: 1, changed: 0, skippedSeconds: 0 });
      expect(service.source.list.counts.requests).toBeGreaterThan(requests);
      expect(await digestTables(pipeline.warehouse)).toEqual(digests);
    },
  );

  test('cut off again and again, it ends complete', async () => {
    await readAll(input({ maxCalls: 500 }), 7);
    expect(await heldIds()).toEqual(expected);
    const { axis, range } = input();
    expect(await uncoveredRanges(pipeline.store, { axis, ...range })).toEqual([]);
    expect((await countRows(pipeline.warehouse)).calls).toBe(expected.size);
  });

  test('doubtful calls are read again singly, and what the service does not know is settled too', async () => {
    const [known] = expected;
    await requestRereads(pipeline.store, [known as string, 'unknown-to-the-service'], 'repeat');
    expect(await rereadCalls(deps, new AbortController().signal)).toEqual({ reread: 2, failed: 0 });
    expect(await heldIds()).toEqual(new Set([known]));
    expect((await countRows(pipeline.warehouse)).calls).toBe(1);
    expect(await pipeline.query('SELECT 1 FROM rereads')).toEqual([]);
  });
});

/** Calls to be read again from a list that has no endpoint for one call. */
const service = useService(
  { dialect: 'page_total', calls: { count: 200, utterances: 2, ...settledRange } },
  {
    records: 'calls',
    total_path: 'meta.total',
    pagination: { style: 'page', size_param: 'per_page', size: 100 },
    cursor_fields: [{ name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' }],
  },
);
const second = 1_000_000;
const ask = () => {
  const windows = { initial: second, min: second, max: second, targetCalls: 10 };
  return rereadCalls({ ...pipeline.deps, source: service.source, windows }, new AbortController().signal);
};
const figures = async () => (await readHealth(pipeline.store)).rereads;
/** A webhook with another status than the list has of a listed call. */
const seen = async () => {
  const [first] = (await readSimulated(service.source, wholeRange(service.simulator, 'timestamp'))).seen.values();
  const { callId, fields, observedAt } = first ?? observationOf('none', 0);
  const told = { ...fields, status: 'as the webhook said' };
  await pipeline.observe([observationOf(callId, observedAt - 1, told, 'webhook')]);
  return { callId, status: fields.status };
};
const statusOf = async (callId: string) => (await pipeline.rowOf(callId))?.document?.status;

test('a list without an endpoint for one call answers by the window in which the call lies', async () => {
  const { callId, status } = await seen();
  await requestRereads(pipeline.store, [callId], 'repeat');
  expect(await figures()).toMatchObject({ count: 1, unanswered: 0 });
  expect(await ask()).toEqual({ reread: 1, failed: 0 });
  expect(await statusOf(callId)).toBe(status);
  expect(await figures()).toMatchObject({ count: 0, unanswered: 0 });
});

test('a list without an endpoint for one call: what it cannot answer is shown, until a reading of the list has', async () => {
  const { callId } = await seen();
  const nobody = observationOf('nobody', 5, { timestamp: '2023-12-04T15:18:29Z' }, 'webhook');
  await pipeline.observe([nobody, observationOf('timeless', 5, {}, 'webhook')]);
  await requestRereads(pipeline.store, ['nobody', 'timeless', callId], 'repeat');
  expect(await ask()).toEqual({ reread: 1, failed: 2 });
  for (let attempt = 2; attempt <= 10; attempt += 1) {
    // No wait can end for a call whose time nobody can read.
    expect(await figures()).toMatchObject({ count: 1, unanswered: 1 });
    await ask();
  }
  expect(await figures()).toMatchObject({ count: 0, unanswered: 2 });
  const [wrong] = judge(await readHealth(pipeline.store)).filter((one) => one.condition === 'reread_unanswered');
  const command = 'callsync backfill --force --from DATE';
  expect(wrong).toMatchObject({ summary: expect.stringContaining('2 calls'), command });
  const later = (Date.now() + 3_600_000) * 1000;
  await pipeline.observe([observationOf('nobody', later), observationOf('timeless', later, {}, 'webhook')]);
  expect(await ask()).toEqual({ reread: 0, failed: 0 });
  expect(await figures()).toMatchObject({ count: 0, unanswered: 1 });
  await requestRereads(pipeline.store, ['timeless'], 'repeat');
  expect(await figures()).toMatchObject({ count: 1, unanswered: 0 });
});
