/** Going live on real parts: simulator with webhooks and live calls, receiver and worker as one process of the program. */
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findFreePort } from '../../src/local/local-process.ts';
import { scheduleIds, schedulesOf } from '../../src/temporal/schedules.ts';
import { type CliFolder, openCliFolder } from '../support/cli.ts';
import { deleteSchedules, endProcess, type Installation, install } from '../support/installation.ts';
import { startProgram } from '../support/program.ts';

let site: Installation;
let folder: CliFolder;
let url: string;
let up: ChildProcess | undefined;

beforeAll(async () => {
  const port = await findFreePort();
  url = `http://127.0.0.1:${port}/webhook`;
  site = await install({
    simulator: {
      seed: 9,
      calls: { count: 150, utterances: 4 },
      live: { callsPerSecond: 4, processingSeconds: 0.2 },
      rateLimit: { requests: 0 },
      webhooks: { url, secret: 'a shared secret' },
    },
    source: { limits: { requests: 400, per_s: 1 } },
    config: {
      webhook: { port, header_prefix: 'X-Service-', secrets: [{ name: 'main', secret: 'a shared secret' }] },
      // A delivery that takes longer than this counts as lost.
      sync: { settle: '3s' },
    },
  });
  folder = await openCliFolder();
});
afterAll(async () => {
  if (up !== undefined) await endProcess(up, 'SIGKILL');
  await deleteSchedules(site);
  await folder?.remove();
  await site?.dispose();
});

const goLive = (...more: string[]) => {
  const range = ['--from', site.simulator.range.from, '--parallel-run', '3s'];
  const args = ['go-live', '--config', site.configPath, ...range, '--json', ...more];
  return folder.run(args, { deadlineMs: 150_000 });
};

test('goes on step by step, through every obstacle, until schedules are on', async () => {
  const alone = await goLive('--url', url);
  expect(alone.code).toBe(4);
  expect(JSON.parse(alone.stdout)).toMatchObject({ error: { code: 'GO_LIVE_WORKER' } });

  const running = startProgram(['up', '--no-schedules', '--config', site.configPath, '--json']);
  up = running.child;
  await running.first();
  // Waiting deliveries are merged and loaded all the same; nothing is read.
  const existing = await Promise.allSettled(
    schedulesOf(site.prefix).map(async (id) => (await site.client.schedule.getHandle(id).describe()).scheduleId),
  );
  expect(existing.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))).toEqual([
    scheduleIds(site.prefix).sweep,
  ]);

  expect(JSON.parse((await goLive()).stdout)).toMatchObject({ error: { code: 'CONFIG_INVALID' } });
  const astray = await goLive('--url', `${url}-else`);
  expect(astray.code).toBe(6);
  expect(JSON.parse(astray.stdout)).toMatchObject({ error: { code: 'GO_LIVE_RECEIVER' } });

  const done = await goLive('--url', url);
  expect(done.code, done.stderr).toBe(0);
  const state = JSON.parse(done.stdout);
  expect(Date.parse(state.from)).toBe(Date.parse(site.simulator.range.from));
  expect(state.catchUp.calls).toBeGreaterThan(100);
  expect(state.overlap).toMatchObject({ webhookOnly: 0, pollOnly: 0 });
  expect(state.overlap.both).toBeGreaterThan(3);
  for (const id of schedulesOf(site.prefix)) await site.client.schedule.getHandle(id).describe();
  const { rows } = await site.store.pool.query("SELECT count(*) AS n FROM inbox WHERE outcome = 'quarantined'");
  expect(rows[0].n).toBe(0);

  const again = await goLive('--url', url);
  expect(again.code).toBe(0);
  expect(again.stderr).toMatch(/1 receiver {3}was verified at/);
  expect(JSON.parse(again.stdout)).toMatchObject({ catchUp: state.catchUp, overlap: state.overlap });
});
