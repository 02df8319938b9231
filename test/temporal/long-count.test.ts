/** A service that counts a range for longer than Temporal waits for a heartbeat. */
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { expect, test } from 'vitest';
import { type ActivityRun, activity } from '../../activities/activity.ts';
import { sourceConfigSchema } from '../../schemas/config/source.ts';
import { countRange } from '../../src/pipeline/read/plan-sync.ts';
import { openSimulated, wholeRange } from '../source/simulated.ts';

const hour = 3_600_000_000;

test('a count may take longer than the time between heartbeats, and a cancelled one ends its request', async () => {
  const { limits } = sourceConfigSchema.parse({ base_url: 'http://a', auth_url: 'http://b', realm: 'r' });
  expect(limits.headers_timeout_s).toBeGreaterThan(2 * 35);
  const calls = { count: 40, utterances: 0, otherShare: 0, to: '2024-03-08T00:00:00Z' };
  const quirks = { listDelayMs: 600 };
  const { simulator, source } = await openSimulated({ calls, quirks }, { list: { preset: 'activate' } });
  const windows = { initial: hour, min: hour, max: 100 * hour, targetCalls: 10 };
  const { axis, ...range } = wholeRange(simulator, 'timestamp');
  const count = activity({ log: () => undefined }, 'countRange', ({ signal }: ActivityRun<never>) =>
    countRange({ source, windows, now: () => new Date(), sync: { settle: 0 } } as never, { axis, range }, signal),
  );
  const stop = new AbortController();
  const context = { info: {}, cancellationSignal: stop.signal, heartbeat: () => undefined };
  const counted = asyncLocalStorage.run(context as unknown as Context, () => count());
  stop.abort(new Error('cancelled'));
  await expect(counted).rejects.toThrow();
  expect(source.list.counts.requests).toBeLessThanOrEqual(1);
});
