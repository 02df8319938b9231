/** One minute of the campaign `soak`, mostly with faults. */
import { expect, test } from 'vitest';
import { leastFaults, soak } from './soak-cases.ts';

test('sync, webhooks, a backfill and a reconcile outlast faults of every connection', async () => {
  const { samples, ...figures } = await soak(0.2, { seed: 1, fault: 1.2, pause: 0.4, sample: 1, sync: 1 });
  expect(figures).toMatchObject({ ended: [], truth: { lost: 0, stale: 0, mismatched: 0, duplicated: 0 } });
  expect(figures.backfills * figures.reconciles).toBeGreaterThan(0);
  expect(Object.keys(figures.faults).length).toBeGreaterThanOrEqual(leastFaults);
  expect(samples[0]?.values).toHaveProperty(['worker: descriptors']);
});
