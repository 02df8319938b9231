/** The commands that speak to the service, against the simulated one: presets, probe, frames, webhook. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { signatureVerifier } from '../../src/webhook/server/signature.ts';
import { startSink } from '../simulator/webhook-sink.ts';
import { openCliAndService } from '../support/cli.ts';
import { runOnServer } from '../support/postgres.ts';

const { simulator, folder, database } = await openCliAndService({
  dialect: 'page_total',
  calls: { count: 400, utterances: 2 },
  rateLimit: { requests: 0 },
  websocket: { framesPerSecond: 50 },
});
const config = {
  source: { ...sourceOf(simulator), limits: { requests: 500, per_s: 1 }, websocket: { url: simulator.wsUrl } },
  store: { url: database.url },
  webhook: {
    secrets: [
      { name: 'old', secret: 'first secret' },
      { name: 'new', secret: 'second secret' },
    ],
  },
};
await folder.write('callsync.yaml', `# kept by hand\n${stringify(config)}`);

describe('commands at the doors of the service', () => {
  test('presets are files to copy', async () => {
    const shown = await folder.run(['presets', 'show', 'activate']);
    expect(parse(shown.stdout)).toMatchObject({ source: { list: { max_results: 10_000 } } });
    expect(JSON.parse((await folder.run(['presets', '--json'])).stdout)).toHaveLength(2);
  });

  test('probe writes what it found and keeps comments; too few requests are said', async () => {
    const short = await folder.run(['probe', '--max-requests', '3', '--json']);
    expect(short.code).toBe(5);
    expect(JSON.parse(short.stdout)).toMatchObject({ complete: false, requests: 3 });

    const full = await folder.run(['probe', '--write']);
    expect(full.code, full.stderr).toBe(0);
    expect(full.stdout).toMatch(/pagination.*\((sure|likely)/);
    expect(full.stdout).not.toMatch(/\+?\d{11}/);
    const text = await readFile(join(folder.path, 'callsync.yaml'), 'utf8');
    expect(text).toMatch(/^# kept by hand/);
    expect(parse(text).source.list).toMatchObject({ records: 'calls', total_path: 'meta.total' });
    expect((await folder.run(['config', 'check'])).code).toBe(0);
  });

  test('frames stores frames as they came', async () => {
    const { stdout, code, stderr } = await folder.run(['frames', '--for', '4s', '--json']);
    expect(code, stderr).toBe(0);
    const { session, frames } = JSON.parse(stdout);
    expect(frames).toBeGreaterThan(5);
    const { rows } = await runOnServer(
      database.url,
      `SELECT count(*)::int AS n, count(*) FILTER (WHERE is_binary)::int AS binary FROM callsync.websocket_frames WHERE session = '${session}/1'`,
    );
    expect(rows[0].n).toBe(frames);
    expect(rows[0].binary).toBeGreaterThan(0);
  });

  test('webhook send signs as the service does, and tells what was answered', async () => {
    const sink = await startSink((_, number) => (number === 0 ? 200 : 403));
    const sent = await folder.run(['webhook', 'send', '--url', sink.url, '--key', 'new', '--json']);
    expect(sent.code, sent.stderr).toBe(0);
    const [first] = sink.received;
    const verdict = signatureVerifier.verify({
      body: first?.body as Buffer,
      signature: first?.headers['x-service-signature'] as string,
      hookId: null,
      keys: [{ name: 'new', secret: Buffer.from('second secret'), hookIds: undefined }],
      allowUnsigned: false,
    });
    expect(verdict).toEqual({ ok: true, key: 'new' });

    const refused = await folder.run(['webhook', 'send', '--url', sink.url, '--file', '-', '--unsigned'], {
      input: '{}',
    });
    expect(refused.code).toBe(3);
    expect(sink.received).toHaveLength(3);
    expect(sink.received[2]?.body.toString()).toBe('{}');
    expect(sink.received[2]?.headers['x-service-signature']).toBeUndefined();
    await sink.stop();

    const { stdout } = await folder.run(['webhook', 'keys', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([
      { key: 'old', configured: true, deliveries: 0 },
      { key: 'new', configured: true, lastUsed: null },
    ]);
  });
});
