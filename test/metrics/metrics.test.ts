import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createRegistry } from '../../src/health/metrics/registry.ts';
import { watchInbox } from '../../src/health/metrics/store-metrics.ts';
import { createWebhookMetrics } from '../../src/health/metrics/webhook-metrics.ts';

test('counts and shows what the receiver does', async () => {
  const registry = new Registry();
  const metrics = createWebhookMetrics(registry);
  metrics.accepted.inc({ stored_in: 'inbox', key: 'new' });
  metrics.rejected.inc({ reason: 'signature_wrong' });
  metrics.drained.inc(3);
  for (const seconds of [0.004, 0.3, 60]) metrics.answerSeconds.observe(seconds);
  const spool = { records: 2, bytes: 700, parked: 1, oldest: new Date(Date.now() - 90_000) };
  metrics.watch(() => ({ inflightBytes: 5, spool, storeUsable: true }));
  const text = await registry.metrics();
  for (const line of [
    'callsync_webhook_accepted_total{stored_in="inbox",key="new"} 1',
    'callsync_webhook_drained_total 3',
    'callsync_spool_records 2',
    'callsync_spool_parked_records 1',
    'callsync_webhook_store_usable 1',
    'callsync_webhook_rejected_total{reason="signature_wrong"} 1',
    'callsync_webhook_request_duration_seconds_bucket{le="0.005"} 1',
    'callsync_webhook_request_duration_seconds_count 3',
  ])
    expect(text.split('\n')).toContain(line);
});

test('counts memory and event loop of the process on demand', async () => {
  expect(await createRegistry({ process_metrics: true, version: '1.2.3' }).metrics()).toContain(
    'process_resident_memory_bytes',
  );
  expect(await createRegistry({ process_metrics: false, version: '1.2.3' }).metrics()).not.toContain(
    'process_resident_memory_bytes',
  );
});

test('shows depth and age of the inbox, and nothing when the store does not answer', async () => {
  const registry = new Registry();
  let away = false;
  let reads = 0;
  watchInbox({
    registry,
    cacheMs: 50,
    read: async () => {
      reads += 1;
      if (away) throw new Error('away');
      return { pending: 7, oldestReceivedAt: new Date(Date.now() - 90_000) };
    },
  });
  const text = await registry.metrics();
  expect(text).toContain('callsync_inbox_pending 7\n');
  const age = Number(/^callsync_inbox_oldest_age_seconds (\S+)/m.exec(text)?.[1]);
  expect(age).toBeGreaterThanOrEqual(90);
  expect(age).toBeLessThan(120);
  expect(reads).toBe(1);
  away = true;
  await expect.poll(() => registry.metrics()).not.toMatch(/callsync_inbox_pending \d/);
});
