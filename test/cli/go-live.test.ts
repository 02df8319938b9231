/** Going live on real parts: simulator with webhooks and live calls, receiver and worker as one process of the program. */
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { findFreePort } from '../../src/local/local-process.ts';
import { uncoveredRanges } from '../../src/store/windows/windows.ts';
import { scheduleIds, schedulesOf } from '../../src/temporal/schedules.ts';
import { openCliFolder } from '../support/cli.ts';
import { endProcess, install } from '../support/installation.ts';
import { startProgram } from '../support/program.ts';

const port = await findFreePort();
const url = `http://127.0.0.1:${port}/webhook`;
const site = await install({
  simulator: {
    seed: 9,
    calls: { count: 150, utterances: 4 },
    live: { callsPerSecond: 4, processingSeconds: 0.2 },
    webhooks: { url, secret: 'a shared secret' },
  },
  config: {
    webhook: { port, header_prefix: 'X-Service-', secrets: [{ name: 'main', secret: 'a shared secret' }] },
    // A delivery that takes longer than this counts as lost.
    sync: { settle: '10s' },
  },
});
const folder = await openCliFolder();
afterAll(() => Promise.all([folder.remove(), site.dispose()]));

const argsOf = (...more: string[]) => {
  const range = ['--from', site.simulator.range.from, '--parallel-run', '3s'];
  return ['go-live', '--config', site.configPath, ...range, ...more];
};
const refusalOf = async (code: number, ...more: string[]) => (await folder.json(argsOf(...more), { code })).error.code;

test('goes on step by step, through every obstacle, until schedules are on', async () => {
  expect(await refusalOf(4, '--url', url)).toBe('GO_LIVE_WORKER');

  const running = startProgram(['up', '--no-schedules', '--config', site.configPath, '--json']);
  onTestFinished(() => endProcess(running.child, 'SIGKILL'));
  await running.first();
  // Waiting deliveries are merged and loaded all the same; nothing is read.
  const absent = (error: Error) => error.name !== 'ScheduleNotFoundError' && Promise.reject(error);
  // Repeated while the answer says nothing of the schedule.
  const isThere = (id: string) =>
    vi.waitFor(() => site.client.schedule.getHandle(id).describe().then(Boolean, absent), 60_000);
  for (const id of schedulesOf(site.prefix)) expect(await isThere(id), id).toBe(id === scheduleIds(site.prefix).sweep);

  expect(await refusalOf(2)).toBe('CONFIG_INVALID');
  expect(await refusalOf(6, '--url', `${url}-else`)).toBe('GO_LIVE_RECEIVER');

  const first = await folder.run(argsOf('--url', url, '--json'));
  expect(first.stderr).toMatch(/first day {2}\d{4}-\d\d-\d\d, the first that was read: proven\n/);
  const state = JSON.parse(first.stdout);
  expect(Date.parse(state.from)).toBe(Date.parse(site.simulator.range.from));
  expect(state.overlap).toMatchObject({ webhookOnly: 0, pollOnly: 0 });
  expect(state.catchUp.calls).toBeGreaterThan(100);
  expect(state.overlap.both).toBeGreaterThan(3);
  for (const id of schedulesOf(site.prefix)) expect(await isThere(id), id).toBe(true);
  expect((await site.store.pool.query("SELECT FROM inbox WHERE outcome = 'quarantined'")).rowCount).toBe(0);

  expect((await folder.run(['status', '--config', site.configPath])).stdout).not.toContain('a page');
  const again = await folder.run(argsOf('--url', url, '--json'));
  expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 receiver {3}was verified at/) });
  expect(JSON.parse(again.stdout)).toMatchObject({ catchUp: state.catchUp, overlap: state.overlap });

  await site.reconfigure((written) => Object.assign(written.webhook, { enabled: false }));
  expect(await folder.run(argsOf())).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 receiver {3}none/) });
  await site.reconfigure((written) => Object.assign(written.webhook, { enabled: true }));
  // The day has its verdict by now.
  const restarted = await folder.run(argsOf('--url', url, '--restart'));
  expect(restarted.stderr).toMatch(/first day {2}\d{4}-\d\d-\d\d, the first that was read: proven\n/);
  await site.control.configure({ webhooks: { url, secret: 'another one' } });
  // The receiver notes rejections now and then.
  expect(await refusalOf(5, '--url', url, '--restart')).toMatch(/^GO_LIVE_(REJECTED|SILENT)$/);
  await site.control.configure({ webhooks: { url, secret: 'a shared secret' } });
  const { catchUp, overlap } = await folder.json(argsOf('--url', url));
  const [from, to] = [catchUp.to, overlap.to].map((at) => Date.parse(at) * 1000) as [number, number];
  expect(await uncoveredRanges(site.store, { axis: 'qualified', from, to }), 'read while no webhook came').toEqual([]);
  await endProcess(running.child, 'SIGINT');
  expect(running.stderr()).toMatch(/Stopped\.\n$/);
});
