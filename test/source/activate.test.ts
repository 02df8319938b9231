import { describe, expect, test } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { settledRange } from '../support/settled-range.ts';
import { useClosers } from './local-server.ts';
import { listedIds, missingFrom, readSimulated, simulatedSource, wholeRange } from './simulated.ts';

const closers = useClosers();

const start = async (options: SimulatorOptions): Promise<Awaited<ReturnType<typeof startSimulator>>> => {
  const simulator = await startSimulator({ rateLimit: { requests: 0 }, ...options });
  closers.push(() => simulator.stop());
  return simulator;
};
const short = { utterances: 1, words: 2, tags: 1 } as const;
const preset = { list: { preset: 'activate' }, limits: { requests: 1_000_000, retry_base_ms: 20 } };
const paging = {
  style: 'offset',
  offset: 'offset',
  size: 'limit',
  maxOffset: 1_000,
  defaultSize: 50,
  maxSize: 200,
} as const;
const statuses = ['qualified', 'void'];

describe('preset activate against the simulator', () => {
  test('reads a window beyond the cap on both axes', async () => {
    const simulator = await start({
      dialectOverrides: { paging },
      calls: { count: 1_600, ...short, ...settledRange },
    });
    const source = await simulatedSource(simulator, { ...preset, list: { ...preset.list, max_results: 1_000 } });
    closers.push(source.close);
    const expected = await listedIds(simulator, statuses);
    for (const axis of ['qualified', 'timestamp']) {
      const before = source.list.counts.requests;
      const { result, seen } = await readSimulated(source, wholeRange(simulator, axis), { confirm: 'later' });
      expect(missingFrom(expected, seen)).toEqual([]);
      expect(seen.size).toBe(expected.size);
      expect([...seen.values()].every(({ times }) => times === 1)).toBe(true);
      expect(result.problems).toEqual([]);
      expect(result.splits).toBeGreaterThanOrEqual(2);
      // Pages of 200 need 8 requests; splitting costs a few more.
      expect(source.list.counts.requests - before).toBeLessThan(20);
    }
  });

  test('loses nothing while calls join and leave ranges already paged, keeping the count', async () => {
    const simulator = await start({
      calls: { count: 1_200, ...short, ...settledRange, otherShare: 0 },
      churn: { everyPages: 1, limit: 20 },
    });
    const source = await simulatedSource(simulator, preset);
    closers.push(source.close);
    const { result, seen } = await readSimulated(source, wholeRange(simulator, 'timestamp'));
    const stats = await simulator.stats();
    expect(stats.churn.left).toBe(20);
    expect(missingFrom(await listedIds(simulator, statuses), seen)).toEqual([]);
    expect(result.shown).not.toBe('none');
    expect(result.problems).toEqual([]);
  });

  test('sees calls that are processed days after their time, and edits, on the end-of-processing axis', async () => {
    const now = '2025-03-10T12:00:00Z';
    const simulator = await start({
      clock: { now },
      calls: {
        count: 1_000,
        ...short,
        from: '2025-03-01T00:00:00Z',
        to: '2025-03-10T00:00:00Z',
        lateShare: 0.2,
        lateMaxDays: 6,
      },
      edits: { share: 0.2, maxAgeDays: 4, requalifyShare: 1 },
    });
    const source = await simulatedSource(simulator, preset);
    closers.push(source.close);
    const from = Date.parse(simulator.range.from) * 1000;
    const seen = new Map<string, number>();
    let done = from;
    for (let day = 0; day < 14; day++) {
      const upTo = (Date.parse(now) + day * 86_400_000 - 1_000) * 1000;
      const reading = await readSimulated(source, { axis: 'qualified', from: done, to: upTo });
      expect(reading.result.problems).toEqual([]);
      for (const [id, { latest }] of reading.seen) seen.set(id, latest.observedAt);
      done = upTo;
      await simulator.setClock({ advanceSeconds: 86_400 });
    }
    expect(missingFrom(await listedIds(simulator, statuses), seen)).toEqual([]);
    // The last observation of each edited call is later than its edit.
    let edited = 0;
    for await (const entry of simulator.truth({ light: true })) {
      const at = Date.parse(entry.versions.at(-1)?.at ?? '') * 1000;
      if (!statuses.includes(entry.status) || entry.version === 1) continue;
      edited++;
      expect(seen.get(entry.callId)).toBeGreaterThan(at);
    }
    expect(edited).toBeGreaterThan(100);
  });

  test('reads calls of one instant completely, although they are listed in another order each time', async () => {
    const simulator = await start({
      calls: {
        count: 450,
        ...short,
        from: '2025-03-01T09:00:00Z',
        to: '2025-03-01T09:00:33Z',
        density: 'even',
        processingSeconds: 1,
        lateShare: 0,
        otherShare: 0,
      },
      unstableTies: true,
    });
    const source = await simulatedSource(simulator, preset);
    closers.push(source.close);
    const expected = await listedIds(simulator, statuses);
    for (const axis of ['qualified', 'timestamp']) {
      const { result, seen } = await readSimulated(source, wholeRange(simulator, axis));
      expect(missingFrom(expected, seen)).toEqual([]);
      expect(result).toMatchObject({ calls: expected.size, problems: [] });
      expect(result.shown).not.toBe('none');
      console.log(`unstable order on ${axis}: ${result.requests} requests for ${Math.ceil(expected.size / 200)} pages`);
    }
  });

  // A lifetime below a second reads as 0, so each end is met as a 401. Tokens of a second are renewed before.
  test.each([
    ['tokens that end without notice', 0, 8_000, 0.4, 6],
    ['tokens of one second', 1, 8_000, 1, 3],
  ])(
    'loses nothing over %s, every fiftieth request failing in ten ways, and 429s',
    async (_, seed, count, lifetimeSeconds, tokens) => {
      const rate = 0.002;
      const simulator = await start({
        seed,
        calls: { count, ...short, ...settledRange, otherShare: 0 },
        tokens: { lifetimeSeconds, idToken: 'wrong_issuer' },
        rateLimit: { requests: 10, seconds: 0.2, retryAfter: 'none' },
        compression: true,
        faults: {
          rates: {
            error_500: rate,
            html_502: rate,
            unavailable_503_date: rate,
            too_many_429: rate,
            reset_before_headers: rate,
            reset_after_headers: rate,
            truncated_body: rate,
            wrong_length: rate,
            invalid_json: rate,
            redirect: rate,
          },
          scope: ['list', 'call', 'token'],
        },
      });
      const source = await simulatedSource(simulator, {
        list: {
          preset: 'activate',
          pagination: { style: 'offset', offset_param: 'offset', size_param: 'limit', size: 50 },
        },
        limits: { requests: 10, per_s: 0.2, retry_base_ms: 20 },
      });
      closers.push(source.close);
      const expected = await listedIds(simulator, statuses);
      const { result, seen } = await readSimulated(source, wholeRange(simulator, 'qualified'));
      const stats = await simulator.stats();
      expect(missingFrom(expected, seen)).toEqual([]);
      expect(seen.size).toBe(expected.size);
      expect(result).toMatchObject({ calls: expected.size, shown: 'total', problems: [] });
      expect(Object.values(stats.faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(2);
      console.log(
        `faults: ${stats.requests.list} requests, ${stats.tokens.issued} tokens, ${stats.rate.refused} 429s, faults ${JSON.stringify(stats.faults)}`,
      );
      expect(stats.tokens.issued).toBeGreaterThanOrEqual(tokens);
      expect(stats.redirects.withAuthorization).toBe(0);
    },
  );
});
