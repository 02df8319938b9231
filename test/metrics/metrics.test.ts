import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createRegistry, watchInbox, watchStore } from '../../src/health/metrics/registry.ts';
import type { Health } from '../../src/health/read-health.ts';
import { healthy } from '../operations/support/healthy.ts';

test('counts memory and event loop of the process on demand', async () => {
  for (const process_metrics of [true, false]) {
    const text = await createRegistry({ process_metrics, version: '1.2.3' }).metrics();
    expect(text.includes('process_resident_memory_bytes')).toBe(process_metrics);
  }
});

test('shows what the store says of work and proof, each under its own name', async () => {
  const registry = new Registry();
  const health = { ...healthy, quarantine: { count: 3, oldestAge: 9 }, grantedRequests: 20 } as Health;
  const proof = { warehouse: 'main', unproven: 2, withdrawn: 0, waiting: 0, suspiciousEmpty: 1, oldestAge: null };
  const latency = [{ warehouse: 'main', calls: 1, p50: 0.2, p95: 1.5 }];
  const readings = { health: async () => health, proofs: async () => [proof], latency: async () => latency };
  watchStore(registry, readings, { requestsAllowed: 40 });
  const lines = (await registry.metrics()).split('\n');
  const of = '{warehouse="main"}';
  for (const line of ['quarantine_open 3', 'source_limit_used_ratio 0.5', `windows_unproven${of} 2`, 'store_up 1'])
    expect(lines).toContain(`callsync_${line}`);
  expect(lines).toContain(`callsync_windows_suspicious_empty${of} 1`);
  // Prometheus leaves the label quantile to summaries, and promtool refuses it elsewhere.
  expect(lines).toContain('callsync_delivery_visible_seconds{warehouse="main",percentile="95"} 1.5');
});

test('shows depth and age of the inbox, and nothing when the store does not answer', async () => {
  const registry = new Registry();
  let away = false;
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (away) throw new Error('away');
    return { pending: 7, oldestAge: 90 };
  };
  watchInbox({ registry, cacheMs: 50, read });
  const text = await registry.metrics();
  expect(text).toContain('callsync_inbox_pending 7\n');
  expect(text).toContain('callsync_inbox_oldest_age_seconds 90\n');
  expect(reads).toBe(1);
  away = true;
  await expect.poll(() => registry.metrics()).not.toMatch(/callsync_inbox_pending \d/);
});
