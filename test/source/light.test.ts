import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { digestFields, type FetchCosts, fetchWanted, listLight, planFetches } from '../../src/source/read/light.ts';
import { readSimulated, simulatedSource, wholeRange } from './simulated.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const second = 1_000_000;
const costs: FetchCosts = {
  pageSize: 200,
  recordBytes: 40_000,
  requestBytes: 262_144,
  single: true,
  cuttable: true,
  step: second,
};
const entriesOf = (count: number) => Array.from({ length: count }, (_, i) => ({ callId: `c${i}`, time: i * second }));

describe('planning fetches', () => {
  test('asks for few scattered calls by id, and for dense ones by window', () => {
    const scattered = planFetches(entriesOf(1_000), new Set(['c3', 'c500', 'c900']), 'timestamp', costs);
    expect(scattered).toMatchObject({ byId: ['c3', 'c500', 'c900'], byWindow: [], requests: 3, bytes: 120_000 });
    const dense = planFetches(
      entriesOf(1_000),
      new Set(entriesOf(100).map(({ callId }) => callId)),
      'timestamp',
      costs,
    );
    expect(dense.byId).toEqual([]);
    expect(dense.byWindow).toMatchObject([{ window: { axis: 'timestamp', from: 0, to: 100 * second } }]);
    expect(dense.requests).toBe(1);
  });

  test('reads windows where calls cannot be asked for one by one', () => {
    const plan = planFetches(entriesOf(1_000), new Set(['c3', 'c900']), 'timestamp', { ...costs, single: false });
    expect(plan.byId).toEqual([]);
    expect(plan.byWindow.map(({ window }) => [window.from, window.to])).toEqual([
      [3 * second, 4 * second],
      [900 * second, 901 * second],
    ]);
  });

  test('covers every wanted call once, and is never dearer than either way alone', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 400 }),
        fc.constantFrom(1_000, 40_000, 400_000),
        (marks, recordBytes) => {
          const entries = entriesOf(marks.length);
          const wanted = new Set(entries.filter((_, i) => marks[i]).map(({ callId }) => callId));
          const plan = planFetches(entries, wanted, 'timestamp', { ...costs, recordBytes });
          const planned = [...plan.byId, ...plan.byWindow.flatMap((one) => one.wanted)].sort();
          expect(planned).toEqual([...wanted].sort());
          const cost = plan.requests * costs.requestBytes + plan.bytes;
          expect(cost).toBeLessThanOrEqual(wanted.size * (costs.requestBytes + recordBytes));
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('a light listing', () => {
  test('names every call without its transcript, for a fraction of the bytes', async () => {
    const simulator = await startSimulator({ calls: { count: 600, otherShare: 0 }, rateLimit: { requests: 0 } });
    closers.push(() => simulator.stop());
    const source = await simulatedSource(simulator, { list: { preset: 'activate' }, limits: { requests: 1_000_000 } });
    closers.push(source.close);
    const window = wholeRange(simulator, 'qualified');
    const whole = await readSimulated(source, window);
    const light = await listLight({ client: source.list, window });
    expect(light.entries.map(({ callId }) => callId).sort()).toEqual([...whole.seen.keys()].sort());
    expect(light.entries.every(({ fields }) => !('transcript_json' in fields) && 'tags' in fields)).toBe(true);
    expect(light.result).toMatchObject({ confirmed: 'total' });
    expect(light.result.bytes).toBeLessThan(whole.result.bytes / 10);
    for (const { callId, fields, digest } of light.entries.slice(0, 50)) {
      const { transcript_json, tracking_info, qualification, ...rest } = whole.seen.get(callId)?.latest.fields ?? {};
      expect(digestFields(rest)).toBe(digest);
      expect(fields).toEqual(rest);
    }
  });

  test('finds edits, and whole records are fetched only for those', async () => {
    const simulator = await startSimulator({
      calls: { count: 2_000, utterances: 5, otherShare: 0 },
      rateLimit: { requests: 0 },
    });
    closers.push(() => simulator.stop());
    const source = await simulatedSource(simulator, { list: { preset: 'activate' }, limits: { requests: 1_000_000 } });
    closers.push(source.close);
    const window = wholeRange(simulator, 'timestamp');
    const before = await listLight({ client: source.list, window, confirm: 'later' });
    const known = new Map(before.entries.map(({ callId, digest }) => [callId, digest]));
    const edited = await simulator.edit({ random: 12, kinds: ['tags', 'metadata'] });
    const after = await listLight({ client: source.list, window, confirm: 'later' });
    const wanted = new Set(
      after.entries.filter(({ callId, digest }) => known.get(callId) !== digest).map(({ callId }) => callId),
    );
    expect([...wanted].sort()).toEqual(edited.map(({ callId }) => callId).sort());
    const fetched: Observation[] = [];
    const result = await fetchWanted({
      client: source.list,
      axis: 'timestamp',
      entries: after.entries,
      wanted,
      onPage: (observations) => {
        fetched.push(...observations);
      },
    });
    expect(result).toMatchObject({ fetched: 12, gone: [], requests: 12 });
    expect(fetched.every(({ fields }) => 'transcript_json' in fields)).toBe(true);
  });

  test('says which wanted calls are gone', async () => {
    const simulator = await startSimulator({
      calls: { count: 100, utterances: 1, otherShare: 0 },
      rateLimit: { requests: 0 },
    });
    closers.push(() => simulator.stop());
    const source = await simulatedSource(simulator, { list: { preset: 'activate' }, limits: { requests: 1_000_000 } });
    closers.push(source.close);
    const listing = await listLight({ client: source.list, window: wholeRange(simulator, 'qualified') });
    const wanted = new Set(listing.entries.map(({ callId }) => callId));
    const [gone] = await simulator.delete({ random: 1 });
    const result = await fetchWanted({ client: source.list, axis: 'qualified', entries: listing.entries, wanted });
    expect(result.gone).toEqual([gone?.callId]);
    expect(result.fetched).toBe(99);
  });
});
