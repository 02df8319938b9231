/** Commands whose work a worker must do, where there is none; and controls of backfills that do not exist. */
import { EventEmitter, once } from 'node:events';
import { Client, Connection } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { scheduledBackfillSchema } from '../../schemas/config/backfills.ts';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { ensureBackfillSchedules } from '../../src/temporal/schedules.ts';
import { openCliAndService } from '../support/cli.ts';
import { useTemporal } from '../support/temporal.ts';

const { simulator, folder, database } = await openCliAndService({ calls: { count: 20 } });
const temporal = await useTemporal();
await folder.configure({
  source: sourceOf(simulator),
  store: { url: database.url },
  temporal: { address: temporal.address, task_queue: temporal.taskQueue },
});

const run = (...args: string[]) => folder.run(args);

test('a command without a worker says so and ends, instead of waiting for ever; what was asked for is kept', async () => {
  const asked = [
    ['backfill', '--from', '2025-01-01', '--name', 'lonely'],
    ['backfill', 'watch', 'lonely'],
    ['backfill', 'pause', 'lonely'],
    ['reconcile', '--from', '2025-01-01'],
    ['warehouse', 'fill', 'postgres'],
  ];
  // Each of them waits: all at once, the others as soon as the backfill is there.
  const started = new EventEmitter();
  const first = folder.run(asked[0] as string[], {
    onStderr: (said) => said.includes('No worker answers') && started.emit('asked'),
  });
  await Promise.race([once(started, 'asked'), first]);
  const waited = asked.slice(1).map((args) => folder.run(args, { ownProcess: true }));
  const results = await Promise.all([first, ...waited]);
  const sentence = 'callsync: NO_WORKER: No worker answers on task queue';
  const says = [sentence, temporal.taskQueue, 'callsync worker or callsync up'];
  for (const [index, { code, stdout, stderr }] of results.entries()) {
    const name = asked[index]?.join(' ');
    expect({ code, stdout }, `${name}: ${stderr}`).toEqual({ code: 4, stdout: '' });
    for (const words of says) expect(stderr, name).toContain(words);
  }
  expect(await folder.json(['backfill', 'list'])).toMatchObject([{ name: 'lonely', state: 'no worker answers' }]);
});

test('Ctrl-C leaves the view at once', async () => {
  const args = ['backfill', '--from', '2025-01-01', '--name', 'left'];
  const left = await folder.run(args, {
    onStderr: (said, child) => said.includes('No worker answers') && child.kill('SIGINT'),
  });
  const unanswered = /callsync: BACKFILL_UNANSWERED: No worker reports the progress of left\. The backfill waits/;
  expect(left).toMatchObject({ code: 4, stderr: expect.stringMatching(unanswered) });
  expect(left.stderr).not.toMatch(/ended|Unexpected/);
  expect((await run('backfill', 'cancel', 'left', '--json')).code).toBe(0);
});

test('calls are erased without a worker all the same; what was not waited for is kept', async () => {
  const erase = ['erase', '--by', 'call', '--yes'];
  const waited = await folder.run([...erase, '--json'], { input: 'call-1' });
  expect(waited.stderr).toContain('No worker answers, so this process loads the tombstones.');
  expect(waited.code, waited.stderr).toBe(0);
  expect(JSON.parse(waited.stdout)).toMatchObject({ erased: 1, found: { warehouses: [{ erased: 1, waiting: 0 }] } });

  const { requestId } = await folder.json([...erase, '--no-wait'], { input: 'call-2' });
  const shown = await folder.json(['privacy', 'receipt', requestId], { code: 5 });
  expect(shown).toEqual({ requestId, receipt: null, waiting: ['postgres'] });
});

test('a backfill that does not exist is named, with how to list those that do', async () => {
  const asked = [['watch'], ['pause'], ['resume'], ['cancel'], ['concurrency', '3']];
  const results = await Promise.all(asked.map(([verb = '', ...more]) => run('backfill', verb, 'nowhere', ...more)));
  const why = 'There is no backfill named “nowhere”.\n  Run callsync backfill list for the names.';
  const stderr = `callsync: USAGE_BACKFILL: ${why}\n`;
  for (const result of results) expect(result).toMatchObject({ code: 2, stderr });
});

test('a scheduled backfill is listed, paused and resumed', async () => {
  const connection = await Connection.connect({ address: temporal.address });
  const ensure = (...wanted: readonly object[]) =>
    ensureBackfillSchedules(new Client({ connection }), temporal.taskQueue, {
      wanted: wanted.map((one) => scheduledBackfillSchema.parse(one)),
      defaults: { axis: 'timestamp', sync: { order: 'newest_first', concurrency: 1 } },
    });
  onTestFinished(() => ensure().then(() => connection.close()));
  const times = { cron: '30 3 * * *', time_zone: 'Europe/Paris', catchup_window: '1h' };
  expect((await run('backfill', 'schedule', 'list')).stdout).toContain('Name one in sync.backfills');
  await ensure({ name: 'nightly', ...times, overlap_policy: 'skip' });
  const schedule = (...args: string[]) => run('backfill', 'schedule', ...args);
  const facts = (...args: string[]) => folder.json(['backfill', 'schedule', ...args]);
  const [shown] = await facts('list');
  const expected = { name: 'nightly', paused: false, overlapPolicy: 'SKIP', runs: 0, catchupWindowSeconds: 3_600 };
  expect(shown).toMatchObject(expected);
  expect(shown.nextRuns).toHaveLength(5);
  expect(shown.nextRuns[0]).toMatch(/T0[12]:30:00\.000Z$/);
  const stderr = expect.stringContaining('There is no scheduled backfill named “unknown”.');
  expect(await schedule('pause', 'unknown')).toMatchObject({ code: 2, stderr });
  expect(await facts('pause', 'nightly')).toMatchObject({ paused: true, nextRuns: [] });
  expect(await facts('resume', 'nightly')).toMatchObject({ paused: false });
  expect((await schedule('list')).stdout).toContain('nightly: on');
});
