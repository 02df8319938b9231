import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { probeSource } from '../../src/source/probe/probe.ts';
import { useClosers } from './local-server.ts';
import { liveCases, probeLive } from './probe-live-cases.ts';
import { simulatedConfig } from './simulated.ts';

const closers = useClosers();

// `npm run campaign -- lists probe` makes 20 runs of each.
test.each(Object.entries(liveCases))(
  'a list paged by %s is recognised while calls come',
  async (name, { pagination }) => {
    const report = await probeLive(name, 1);
    expect(report.complete).toBe(true);
    expect(report.list.pagination).toMatchObject(pagination);
    expect(report.list.cursor_fields.length).toBeGreaterThan(0);
    expect(report.list.max_results).toBe(name === 'offset' ? 10_000 : undefined);
    expect(report.findings.filter(({ key }) => key === 'contradiction')).toEqual([]);
  },
);

test('it waits where the service says that it was too many', async () => {
  const simulator = await startSimulator({
    dialect: 'page_total',
    calls: { count: 300, utterances: 1, words: 2 },
    rateLimit: { requests: 15, seconds: 2, retryAfter: 'seconds' },
  });
  closers.push(() => simulator.stop());
  const report = await probeSource({ config: await simulatedConfig(simulator, { limits: { requests: 1_000_000 } }) });
  expect(report.complete).toBe(true);
  expect((await simulator.stats()).rate.refused).toBeGreaterThan(0);
  expect(report.requests).toBeLessThanOrEqual(report.maxRequests);
});

describe('what cannot all be true', () => {
  test('is said of a total beyond a list that has no way on', async () => {
    const simulator = await startSimulator({
      dialect: 'page_total',
      dialectOverrides: { paging: { style: 'none' }, cap: 100, capTotal: 'true' },
      calls: { count: 300, utterances: 1, words: 2 },
      rateLimit: { requests: 0 },
    });
    closers.push(() => simulator.stop());
    const report = await probeSource({ config: await simulatedConfig(simulator, { limits: { requests: 1_000_000 } }) });
    const found = report.findings.filter(({ key }) => key === 'contradiction');
    expect(found.map(({ found: what }) => what)).toEqual(['between pagination.style and the total']);
  });

  test('is said of windows that cut by other times than the records show', async () => {
    const simulator = await startSimulator({
      dialect: 'page_total',
      calls: { count: 300, utterances: 1, words: 2, printedZoneMinutes: 14 * 60, density: 'even' },
      rateLimit: { requests: 0 },
    });
    closers.push(() => simulator.stop());
    const report = await probeSource({ config: await simulatedConfig(simulator, { limits: { requests: 1_000_000 } }) });
    const found = report.findings.filter(({ key }) => key === 'contradiction');
    expect(found.map(({ found: what }) => what)).toEqual(['between window parameters and the times of records']);
  });
});
