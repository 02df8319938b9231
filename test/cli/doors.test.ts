/** The commands that speak to the service, against the simulated one: probe, frames, webhook. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { openCliAndService } from '../support/cli.ts';
import { runOnServer } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';

const { simulator, folder, database } = await openCliAndService({
  dialect: 'page_total',
  calls: { count: 400, utterances: 2 },
  rateLimit: { requests: 0 },
  websocket: { framesPerSecond: 50 },
});
const config = {
  source: { ...sourceOf(simulator), limits: { requests: 500, per_s: 1 }, websocket: { url: simulator.wsUrl } },
  store: { url: database.url },
  webhook: { secrets: ['old', 'new'].map((name) => ({ name, secret: `${name} secret` })) },
};
await folder.write('callsync.yaml', `# kept by hand\n${stringify(config)}`);

test('probe writes what it found and keeps comments; too few requests are said', async () => {
  const short = await folder.json(['probe', '--max-requests', '3'], { code: 5 });
  expect(short).toMatchObject({ complete: false, requests: 3 });

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
  const { child, ended, stdout } = startProgram(['frames', '--json'], { cwd: folder.path });
  await expect.poll(async () => (await simulator.stats()).websocket.frames, { timeout: 30_000 }).toBeGreaterThan(50);
  child.kill('SIGINT');
  await ended;
  const { session, frames } = JSON.parse(stdout());
  expect(frames).toBeGreaterThan(5);
  const sql = `SELECT count(*)::int AS n, bool_or(is_binary) AS some FROM callsync.websocket_frames WHERE session = '${session}/1'`;
  expect((await runOnServer(database.url, sql)).rows).toEqual([{ n: frames, some: true }]);
});

test('webhook keys lists the configured keys before their first use', async () => {
  expect(await folder.json(['webhook', 'keys'])).toMatchObject([
    { key: 'old', configured: true, deliveries: 0 },
    { key: 'new', configured: true, lastUsed: null },
  ]);
});
