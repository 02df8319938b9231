/** Continuous sync, run after run: the lookback comes by summaries, and no late or changed call is lost by that. */
import { expect, onTestFinished, test } from 'vitest';
import { finishSync, planSync } from '../../../src/pipeline/read/plan-sync.ts';
import { rereadWindows } from '../../../src/pipeline/read/reread-windows.ts';
import { readPart, simulatedSource } from '../../source/simulated.ts';
import { usePipeline } from '../../support/pipeline.ts';
import { openSimulator } from '../../support/simulator.ts';

type SyncDeps = Parameters<typeof planSync>[0] & Parameters<typeof rereadWindows>[0];

const pipeline = usePipeline();

const second = 1_000_000;
const minute = 60 * second;
const lookback = 10 * minute;
const settle = 30 * second;
const none = { callId: '' };
const at = (micros: number): string => new Date(micros / 1000).toISOString();
const options = { signal: new AbortController().signal, onProgress: () => undefined };

/** A service with a call a second, and a worker that starts anew for each run of continuous sync. */
const open = async () => {
  const begun = Math.floor(Date.now() / 60_000) * minute;
  let now = begun;
  const simulator = await openSimulator({
    calls: {
      ...{ from: at(begun - 30 * minute), to: at(begun + 30 * minute), count: 3_600, density: 'even' },
      ...{ utterances: 30, words: 5, processingSeconds: 0, lateShare: 0, otherShare: 0 },
    },
    clock: { now: at(now) },
  });
  const bytes = async () => (await simulator.stats()).requests.bytes;
  /** One run of continuous sync. @returns the bytes of its answers */
  const run = async () => {
    const before = await bytes();
    const source = await simulatedSource(simulator, { list: { preset: 'activate' }, limits: { requests: 100_000 } });
    onTestFinished(() => source.close());
    const deps: SyncDeps = {
      ...{ ...pipeline.deps, source, now: () => new Date(now / 1000) },
      windows: { initial: 60 * minute, min: second, max: 31 * 24 * 60 * minute, targetCalls: 1_000 },
      sync: { settle, lookback, start: begun - lookback - settle, interval: minute, direction: 'newest_first' },
      reread: { horizon: undefined, share: 0.999, delay: minute, maxHorizon: minute, sample: 0 },
    };
    const { axis, top, lookback: seen, settledTo } = await planSync(deps);
    for (const range of top)
      await readPart(deps, { axis, range, settledTo, origin: 'sync', direction: 'newest_first' });
    await finishSync(deps, { seenTo: settledTo + settle });
    await rereadWindows(deps, seen, options);
    return (await bytes()) - before;
  };
  const pass = async (micros: number): Promise<void> => {
    now += micros;
    await simulator.setClock({ now: at(now) });
    const past = `read_at = read_at - interval '${micros / second} seconds'`;
    await pipeline.store.query(`UPDATE windows SET ${past}`);
  };
  return { simulator, run, pass, now: () => now };
};

test('continuous sync reads calls of the lookback that it has read before without their transcripts', async () => {
  const { run, pass } = await open();
  const first = await run();
  for (let runs = 0; runs < 3; runs++) {
    await pass(minute);
    expect(await run()).toBeLessThan(first / 2);
  }
});

test('calls that appear late in the lookback come whole with the next run, and so do changed ones', async () => {
  const { simulator, run, pass, now } = await open();
  await run();
  await pass(minute);
  await run();
  const place = at(now() - 5 * minute);
  const [{ callId } = none] = await simulator.insert({ timestamp: place, qualified: place, status: 'qualified' });
  const [first] = await simulator.edit({ callIds: [callId], kinds: ['metadata'], requalify: false });
  await pass(minute);
  await run();
  const before = await pipeline.rowOf(callId);
  expect(before?.document?.transcript_json).toMatchObject({ callData: expect.any(Array) });
  expect(first?.version).toBe(2);
  await simulator.edit({ callIds: [callId], kinds: ['metadata'], requalify: false });
  await pass(minute);
  await run();
  expect((await pipeline.rowOf(callId))?.document?.metadata).not.toEqual(before?.document?.metadata);
});

test('a changed transcript that no summary shows comes before its call leaves the lookback', async () => {
  const { simulator, run, pass, now } = await open();
  const place = at(now() - 5 * minute);
  const [{ callId } = none] = await simulator.insert({ timestamp: place, qualified: place, status: 'qualified' });
  await run();
  const before = (await pipeline.rowOf(callId))?.document?.transcript_json;
  await simulator.edit({ callIds: [callId], kinds: ['transcript'], requalify: false });
  for (let runs = 0; runs < 7; runs++) {
    await pass(minute);
    await run();
  }
  expect(before).toMatchObject({ callData: expect.any(Array) });
  expect((await pipeline.rowOf(callId))?.document?.transcript_json).not.toEqual(before);
});
