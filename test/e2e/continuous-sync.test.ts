/** Continuous sync after a downtime: the schedule alone brings everything back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { syncConfigSchema } from '../../schemas/config/sync.ts';
import { readHealth } from '../../src/health/read-health.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { deleteSchedules, type Installation, install, until } from '../support/installation.ts';

const days = 86_400_000;

describe('continuous sync', () => {
  let site: Installation;
  const stoppedAt = new Date(Date.now() - 2 * days);
  beforeAll(async () => {
    site = await install({
      simulator: {
        seed: 5,
        calls: {
          count: 400,
          utterances: 2,
          from: stoppedAt.toISOString(),
          // All are processed when it begins: none is behind the last reading when the truth is asked for.
          to: new Date(Date.now() - 3 * 3_600_000).toISOString(),
          lateShare: 0,
        },
        rateLimit: { requests: 0 },
      },
      source: { limits: { requests: 400, per_s: 1 } },
      config: { sync: { start_from: new Date(Date.now() - 3 * days).toISOString(), settle: '1s', interval: '2s' } },
    });
  });
  afterAll(async () => {
    await deleteSchedules(site);
    await site.dispose();
  });

  test('is complete again, without a human, after it stood still for two days', async () => {
    // What a run two days ago left behind: its watermark, and the window that led up to it.
    await site.store.pool.query(
      `INSERT INTO windows (axis, window_from, window_to, calls, shown, origin)
       VALUES ('qualified', $1::timestamptz - interval '1 day', $1, 0, 'total', 'sync')`,
      [stoppedAt],
    );
    await site.store.pool.query(`INSERT INTO watermarks (name, axis, watermark) VALUES ('sync', 'qualified', $1)`, [
      stoppedAt,
    ]);
    await site.startWorker();
    const target = Date.now();
    await ensureSchedules(
      site.client,
      site.prefix,
      syncConfigSchema.parse({ settle: '1s', interval: '2s', inbox_sweep: '5s' }),
    );
    await until(
      'the watermark has passed the start of the test',
      async () => {
        const { watermarks, warehouses } = await readHealth(site.store);
        const pending = warehouses.reduce((sum, state) => sum + state.pending, 0);
        return Date.parse(watermarks.sync ?? '1970-01-01') >= target && pending === 0;
      },
      240_000,
    );
    const truth = await site.checkTruth();
    expect(truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    expect(truth.calls).toBeGreaterThan(350);
  }, 300_000);
});
