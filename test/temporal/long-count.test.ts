/** A service that counts a range for longer than Temporal waits for a heartbeat. */
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { expect, onTestFinished, test } from 'vitest';
import { type ActivityRun, activity } from '../../activities/activity.ts';
import { sourceConfigSchema } from '../../schemas/config/source.ts';
import { countRange } from '../../src/pipeline/read/plan-sync.ts';
import { simulatedSource, wholeRange } from '../source/simulated.ts';
import { openSimulator } from '../support/simulator.ts';

const hour = 3_600_000_000;

test('a count may take longer than the time between heartbeats, and a cancelled one ends its request', async () => {
  const { limits } = sourceConfigSchema.parse({ base_url: 'http://a', auth_url: 'http://b', realm: 'r' });
  expect(limits.headers_timeout_s).toBeGreaterThan(2 * 35);
  const calls = { count: 40, utterances: 0, otherShare: 0, to: '2024-03-08T00:00:00Z' };
  const simulator = await openSimulator({ calls, quirks: { listDelayMs: 600 } });
  const source = await simulatedSource(simulator, { list: { preset: 'activate' } });
  onTestFinished(() => source.close());
  const windows = { initial: hour, min: hour, max: 100 * hour, targetCalls: 10 };
  const { axis, ...range } = wholeRange(simulator, 'timestamp');
  const deps = { source, windows, now: () => new Date(), sync: { settle: 0 } } as never;
  const count = activity({ log: () => undefined }, 'countRange', ({ signal }: ActivityRun<never>) =>
    countRange(deps, { axis, range }, signal),
  );
  const stop = new AbortController();
  const context = { info: {}, cancellationSignal: stop.signal, heartbeat: () => undefined };
  const counted = asyncLocalStorage.run(context as unknown as Context, () => count());
  stop.abort(new Error('cancelled'));
  await expect(counted).rejects.toThrow();
  expect(source.list.counts.requests).toBeLessThanOrEqual(1);
});
