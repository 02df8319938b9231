/**
 * An hour and a half of continuous sync by its schedules, with a worker process, after a pause of two days. The
 * conditions are those of a bad day: tokens of five minutes, every fiftieth request failing in one of seven ways, 429s.
 * Calls appear and change all the time. Compressed by the lifetime of the tokens: what ends after 0.83 s stands for
 * what ends after five minutes.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultKind } from '../../schemas/simulator.ts';
import { readHealth } from '../../src/health/read-health.ts';
import { deleteSchedules, type Installation, install } from '../support/installation.ts';
import { deliver } from '../support/pipeline.ts';
import { until } from '../support/until.ts';

const factor = 360;
const lifetimeSeconds = 300 / factor;
const realMs = (1.5 * 3_600_000) / factor;

const kinds: readonly FaultKind[] = [
  'error_500',
  'html_502',
  'unavailable_503_seconds',
  'too_many_429',
  'reset_before_headers',
  'truncated_body',
  'invalid_json',
];

const dayMs = 86_400_000;

describe('continuous sync over the ends of tokens, after two days of downtime', () => {
  let site: Installation;
  const stoppedAt = new Date(Date.now() - 2 * dayMs);
  beforeAll(async () => {
    site = await install({
      simulator: {
        // With this seed all seven kinds come within the first 111 requests.
        seed: 607,
        calls: {
          count: 1_000,
          from: stoppedAt.toISOString(),
          // All of these are processed when it begins, late ones too: at the end only live calls have to be waited for.
          to: new Date(Date.now() - 8 * 3_600_000).toISOString(),
          utterances: 1,
          words: 3,
          tags: 1,
          lateShare: 0.1,
          lateMaxDays: 0.2,
        },
        edits: { requalifyShare: 1 },
        live: { callsPerSecond: 5, processingSeconds: 1, editShare: 0.05 },
        tokens: { lifetimeSeconds },
        rateLimit: { requests: 20, seconds: 0.5 },
        faults: {
          rates: Object.fromEntries(kinds.map((kind) => [kind, 0.02 / kinds.length])),
          scope: ['list', 'call', 'token'],
        },
      },
      source: {
        list: {
          preset: 'activate',
          pagination: { style: 'offset', offset_param: 'offset', size_param: 'limit', size: 10 },
        },
        // More than the service allows, so that it says so.
        limits: { requests: 25, per_s: 0.5, retry_base_ms: 50 },
      },
      config: {
        sync: {
          start_from: new Date(Date.now() - 3 * dayMs).toISOString(),
          settle: '2s',
          lookback: '5s',
          interval: '1s',
          inbox_sweep: '5s',
          reconcile: { enabled: false },
        },
      },
    });
    // The gate before the service would hint the connections that are to break.
    const text = await readFile(site.configPath, 'utf8');
    await writeFile(site.configPath, text.replace(site.gate.url, site.simulator.url));
    // A run two days ago left its watermark, and the window that led up to it.
    await site.store.pool.query(
      `INSERT INTO windows (axis, window_from, window_to, calls, shown, origin)
       VALUES ('qualified', $1::timestamptz - interval '1 day', $1, 0, 'total', 'sync')`,
      [stoppedAt],
    );
    await site.store.pool.query(
      `INSERT INTO watermarks (name, axis, watermark, started_from) VALUES ('sync', 'qualified', $1, $1::timestamptz - interval '1 day')`,
      [stoppedAt],
    );
  });
  afterAll(async () => {
    await deleteSchedules(site);
    await site.dispose();
  });

  test('ends with nothing lost and nothing doubled, and with the delivery that came while no worker ran', async () => {
    const startedAt = Date.now();
    await deliver(site.store, [{ body: JSON.stringify({ unique_id: 'waited', status: 'void' }), deliveryId: null }]);
    await site.startWorker(['--schedules']);
    await until('the time has passed and every kind of fault was met', async () => {
      // A slow machine seldom asks more than the service allows: of the 429s, only those that are made are waited for.
      const { faults } = await site.control.stats();
      return Date.now() - startedAt >= realMs && kinds.every((kind) => faults[kind]);
    });
    await site.control.configure({ live: { callsPerSecond: 0, editShare: 0 } });
    // The last calls of live time end a second after they appear.
    const end = Date.now() + 2_000;
    await until('everything that appeared is read and loaded', async () => {
      const { watermarks, warehouses } = await readHealth(site.store);
      const pending = warehouses.reduce((sum, state) => sum + state.pending, 0);
      return Date.parse(watermarks.sync ?? '1970-01-01') >= end && pending === 0;
    });
    const { requests, tokens, faults, rate } = await site.control.stats();
    const truth = await site.checkTruth();
    const seconds = (Date.now() - startedAt) / 1000;
    console.log(
      `an hour and a half in ${seconds.toFixed(0)} s (tokens of 5 minutes end after ${lifetimeSeconds.toFixed(2)} s: factor ${factor}): ` +
        `${truth.calls} calls, ${requests.list} requests, ${tokens.issued} tokens, ${rate.refused} 429s, faults ${JSON.stringify(faults)}`,
    );
    expect(truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
    expect(truth.calls).toBeGreaterThan(1_000);
    expect(tokens.issued).toBeGreaterThan(10);
    const { rows } = await site.store.pool.query("SELECT 1 FROM calls.calls WHERE call_id = 'waited'");
    expect(rows).toHaveLength(1);
  });
});
