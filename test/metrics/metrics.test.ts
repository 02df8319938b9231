import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { metricsConfigSchema } from '../../schemas/config/metrics.ts';
import { watchInbox } from '../../src/metrics/inbox-gauges.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { startOtlpExport } from '../../src/metrics/otlp.ts';
import { serveMetrics } from '../../src/metrics/server.ts';

const used = () => {
  const metrics = createMetrics();
  metrics.webhook.accepted('inbox', 'new');
  metrics.webhook.accepted('spool', null);
  metrics.webhook.rejected('signature_wrong');
  metrics.webhook.duplicate('duplicate', 3);
  metrics.webhook.duplicate('repeat');
  metrics.webhook.answered(0.004);
  metrics.webhook.answered(0.3);
  metrics.webhook.answered(60);
  metrics.arrived('poll', 200);
  return metrics;
};

test('serves Prometheus text on a listener of its own', async () => {
  const metrics = used();
  const server = await serveMetrics({ registry: metrics.registry, listen: '127.0.0.1', port: 0 });
  const response = await fetch(server.address);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  for (const line of [
    'callsync_webhook_accepted_total{landed="inbox"} 1',
    'callsync_webhook_key_used_total{key="new"} 1',
    'callsync_webhook_spooled_total 1',
    'callsync_webhook_rejected_total{reason="signature_wrong"} 1',
    'callsync_webhook_duplicates_total{outcome="duplicate"} 3',
    'callsync_webhook_duplicates_total{outcome="repeat"} 1',
    'callsync_webhook_answer_seconds_bucket{le="0.005"} 1',
    'callsync_webhook_answer_seconds_count 3',
    'callsync_arrivals_total{source="poll"} 200',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect((await fetch(new URL('/', server.address))).status).toBe(404);
  expect((await fetch(server.address, { method: 'POST' })).status).toBe(405);
  const taken = serveMetrics({
    registry: metrics.registry,
    listen: '127.0.0.1',
    port: Number(new URL(server.address).port),
  });
  await expect(taken).rejects.toMatchObject({ code: 'METRICS_PORT_TAKEN', kind: 'terminal' });
  await server.close();
});

test('counts memory and event loop of the process on demand', async () => {
  expect(await createMetrics({ process: true }).registry.metrics()).toContain('process_resident_memory_bytes');
  expect(await createMetrics().registry.metrics()).not.toContain('process_resident_memory_bytes');
});

test('shows depth and age of the inbox, and nothing when the store does not answer', async () => {
  const { registry } = createMetrics();
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
  expect(Number(/^callsync_inbox_oldest_age_seconds (\S+)/m.exec(text)?.[1])).toBeCloseTo(90, 0);
  expect(reads).toBe(1);
  away = true;
  await expect.poll(() => registry.metrics()).not.toMatch(/callsync_inbox_pending \d/);
});

test('exports to an OpenTelemetry collector, also when it was away', async () => {
  const received: { path: string | undefined; headers: NodeJS.Dict<string | string[]>; body: unknown }[] = [];
  let status = 503;
  const collector = createServer(async (request, response) => {
    received.push({ path: request.url, headers: request.headers, body: await json(request) });
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'callsync-otlp-'));
  await writeFile(join(folder, 'headers'), 'Authorization: Bearer abc\n\nX-Scope: a:b\n');
  const { otlp } = metricsConfigSchema.parse({
    otlp: {
      endpoint: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/metrics`,
      interval_s: 0.05,
      headers_file: join(folder, 'headers'),
      attributes: { 'deployment.environment': 'test' },
    },
  });
  if (otlp === undefined) throw new Error('the schema dropped the section');
  const failures: unknown[] = [];
  const exporter = startOtlpExport({
    registry: used().registry,
    config: otlp,
    onFailure: (error) => failures.push(error),
  });
  await expect.poll(() => received.length).toBeGreaterThan(2);
  await expect(exporter.flush()).rejects.toMatchObject({ code: 'OTLP_REFUSED', kind: 'transient' });
  expect(failures).toHaveLength(1);
  status = 200;
  await exporter.flush();
  await exporter.close();
  collector.close();
  await rm(folder, { recursive: true });

  const last = received.at(-1);
  expect(last?.path).toBe('/v1/metrics');
  expect(last?.headers).toMatchObject({
    'content-type': 'application/json',
    authorization: 'Bearer abc',
    'x-scope': 'a:b',
  });
  const [resource] = (last as { body: { resourceMetrics: ExportedResource[] } }).body.resourceMetrics;
  expect(resource?.resource.attributes).toEqual([
    { key: 'service.name', value: { stringValue: 'callsync' } },
    { key: 'deployment.environment', value: { stringValue: 'test' } },
  ]);
  const metric = (name: string) => resource?.scopeMetrics[0]?.metrics.find((one) => one.name === name);
  expect(metric('callsync_webhook_accepted_total')).toMatchObject({
    sum: {
      aggregationTemporality: 2,
      isMonotonic: true,
      dataPoints: [
        { asDouble: 1, attributes: [{ key: 'landed', value: { stringValue: 'inbox' } }] },
        { asDouble: 1, attributes: [{ key: 'landed', value: { stringValue: 'spool' } }] },
      ],
    },
  });
  expect(metric('callsync_webhook_answer_seconds')).toMatchObject({
    histogram: {
      aggregationTemporality: 2,
      dataPoints: [
        {
          count: '3',
          sum: 60.304,
          explicitBounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
          bucketCounts: ['1', '0', '0', '0', '0', '0', '1', '0', '0', '0', '0', '1'],
          startTimeUnixNano: expect.stringMatching(/^\d{19}$/),
          timeUnixNano: expect.stringMatching(/^\d{19}$/),
        },
      ],
    },
  });
});

interface ExportedResource {
  readonly resource: { readonly attributes: unknown };
  readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[];
}
