import { afterAll, beforeAll, expect, test } from 'vitest';
import { planSync, type SyncDeps } from '../../../src/pipeline/read/plan-sync.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import { simulatedSource } from '../../source/simulated.ts';
import { openPipeline, type Pipeline } from '../../support/pipeline.ts';

let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await openPipeline();
});
afterAll(() => pipeline.close());

const second = 1_000_000;
const settle = 30 * second;

test.each([
  ['ahead of', 600],
  ['behind', -600],
])('the range ends by the service’s clock, which is %s ours, from the first plan on', async (_, seconds) => {
  const clock = { now: new Date(Date.now() + seconds * 1000).toISOString() };
  const simulator = await startSimulator({ calls: { count: 10 }, rateLimit: { requests: 0 }, clock });
  const source = await simulatedSource(simulator, { list: { preset: 'activate' } });
  const deps: SyncDeps = {
    ...pipeline.deps,
    source,
    windows: { initial: second, min: second, max: second, targetCalls: 10 },
    now: () => new Date(),
    sync: { settle, overlap: 600 * second, start: second, direction: 'newest_first', axis: 'qualified' },
  };
  const end = async () => Date.parse((await simulator.setClock({})).now) * 1000 - settle;
  try {
    for (const requests of [1, 1]) {
      const earliest = await end();
      const { range } = await planSync(deps);
      // The Date header tells the second, and the answer was under way for a while.
      const latest = await end();
      expect(range.to).toBeGreaterThan(earliest - 2 * second - (latest - earliest));
      expect(range.to).toBeLessThanOrEqual(latest);
      expect(source.list.counts.requests).toBe(requests);
    }
  } finally {
    await source.close();
    await simulator.stop();
  }
});
