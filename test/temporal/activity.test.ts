/** The wrapper of every activity: what Temporal gets of progress and of errors. */
import { asyncLocalStorage } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type ActivityRun, activity } from '../../activities/activity.ts';
import { terminal, transient } from '../../src/lib/errors.ts';

const logged: string[] = [];
const deps = { log: (event: string) => void logged.push(event) };

/** Runs an activity as a worker does; returns what it heartbeats. */
const runWith = async <O>(heartbeatDetails: unknown, work: () => Promise<O>) => {
  const beats: unknown[] = [];
  const heartbeat = (details: unknown) => void beats.push(details);
  const context = { info: { heartbeatDetails }, heartbeat, cancellationSignal: new AbortController().signal };
  return { result: await asyncLocalStorage.run(context as never, work), beats };
};

test('an activity resumes from the last progress and heartbeats the new one', async () => {
  const count = activity(deps, 'count', async (run: ActivityRun<number>, step: number) => {
    run.onProgress((run.resume ?? 0) + step);
    return run.resume;
  });
  expect(await runWith(4, () => count(3))).toEqual({ result: 4, beats: [7] });
  expect(await runWith(undefined, () => count(3))).toEqual({ result: undefined, beats: [3] });
});

test('an activity heartbeats several times before Temporal gives it up, and no longer than it works', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const long = activity(deps, 'long', async () => void vi.advanceTimersByTime(35_000));
  const { beats } = await runWith(undefined, long);
  vi.advanceTimersByTime(35_000);
  expect(beats).toHaveLength(7);
});

test.each([
  [
    'a transient error is tried again, after the time that it names',
    transient('NO_WORKER', 'It is away.', { hint: 'Wait.', retryAfterMs: 5_000 }),
    { type: 'NO_WORKER', message: 'It is away. Wait.', nonRetryable: false, nextRetryDelay: 5_000 },
  ],
  ['a terminal error is not', terminal('LIST_SHAPE', 'It is wrong.'), { type: 'LIST_SHAPE', nonRetryable: true }],
  [
    'any other error keeps its text to itself',
    new TypeError('secret 0123'),
    { type: 'UNEXPECTED', message: "Unexpected TypeError; the worker's log has the details.", nonRetryable: false },
  ],
])('an activity: %s', async (_, error, expected) => {
  logged.length = 0;
  const failing = activity(deps, 'failing', () => Promise.reject(error));
  await expect(runWith(undefined, failing)).rejects.toMatchObject(expected);
  expect(logged).toEqual(['activity failed']);
});

const stop = new CancelledFailure('stop');
test.each([stop, new DOMException('stop', { cause: stop })])('a cancelled activity did not fail: %s', async (error) => {
  logged.length = 0;
  const cancelled = activity(deps, 'cancelled', () => Promise.reject(error));
  await expect(runWith(undefined, cancelled)).rejects.toThrow(CancelledFailure);
  expect(logged).toEqual([]);
});
