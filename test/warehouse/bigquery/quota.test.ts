import { expect, test } from 'vitest';
import { CallsyncError } from '../../../src/lib/errors.ts';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { loadBatch } from '../../../src/warehouse/bigquery/load.ts';
import { createQuota, limitsOf } from '../../../src/warehouse/bigquery/quota.ts';
import { createLocalMemory, createLocalQuota } from '../../support/open-bigquery.ts';
import { makeBatch, makeCall } from '../batches.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'p' });
const limits = limitsOf(config);

/** Every documented limit, over every window that ends with a commit; `commits` are their times. */
const checkDocumentedLimits = (commits: readonly number[]): void => {
  const mostWithin = (ms: number): number =>
    Math.max(...commits.map((at, index) => index + 1 - commits.findIndex((first) => first > at - ms)));
  // Load jobs of a table a day: 1,500, even if every commit loaded the same table.
  expect(mostWithin(dayMs)).toBeLessThanOrEqual(1_500);
  // Metadata updates of a table in 10 s: 5 without partitions, 50 with partitions.
  expect(mostWithin(10_000)).toBeLessThanOrEqual(5);
};

const pausesOf = (commits: readonly number[]) => commits.slice(1).map((at, n) => at - (commits[n] as number));
const calls = [makeCall({ callId: 'c', utterances: 0 })];

/** A warehouse of which only the pace is real: commits take 5 s of virtual time. */
const openModel = (clock: { now: number }) => {
  const commits: number[] = [];
  const pass = async (ms: number): Promise<void> => {
    clock.now += ms;
  };
  const nothing = async () => undefined;
  const deps = {
    name: 'model',
    config,
    quota: createLocalQuota(limits, () => clock.now),
    staging: { create: nothing, drop: nothing, fullName: String, loadConfiguration: () => ({}) },
    jobs: { run: () => pass(2_500) },
    queries: { resultOf: async () => [{ changed: 1 }] },
    pause: pass,
    hasUnknownPartitions: async () => false,
    compress: false,
  } as unknown as Parameters<typeof loadBatch>[0];
  return {
    commits,
    /** Loads a part of the queue, whose newest calls go first; where it has to wait for long, nothing is loaded. */
    async load(origin: string): Promise<void> {
      try {
        await loadBatch(deps, makeBatch({ origin, calls }));
        commits.push(clock.now);
      } catch (error) {
        if (!(error instanceof CallsyncError) || error.code !== 'BIGQUERY_QUOTA_RESERVED') throw error;
        clock.now += Math.min(error.retryAfterMs ?? 0, 10_000);
      }
    },
  };
};

test.each([
  ['after an idle day', 0],
  ['after a day of continuous sync', 24],
  ['after nine hours of it', 9],
])('while 11,000 commits wait, a new call is there within 2 minutes at any hour: %s', async (_name, hours) => {
  const clock = { now: 0 };
  const model = openModel(clock);
  while (clock.now < hours * hourMs) {
    clock.now += 65_000;
    await model.load('pending');
  }
  const [begin, before] = [clock.now, model.commits.length];
  const origins = ['backfill:history', 'pending', 'import', 'await', 'reconcile', 'fill'];
  for (let turn = 0; clock.now < begin + 1.25 * dayMs; turn += 1)
    await model.load(origins[turn % origins.length] as string);
  expect(Math.max(...pausesOf([begin, ...model.commits.slice(before)]))).toBeLessThan(115_000);
  checkDocumentedLimits(model.commits);
  // The backlog gets all that the quota has.
  expect(model.commits.length - before).toBeGreaterThan(1.25 * 1_200);
});

test('a restart does not forget what is spent', async () => {
  const spent = Array.from({ length: 1_400 }, (_, at) => ({ at: at * 1_000, jobs: 1 }));
  const quota = createQuota(limits, () => 1_400_000, { read: async () => spent, write: async () => undefined });
  expect(await quota.waitMs('any')).toBe(dayMs - 1_400_000);
  expect(await createLocalQuota(limits, () => 1_400_000).waitMs('any')).toBe(0);
});

test('what is remembered of a day stays small, and counts every job until its day is over', async () => {
  const clock = { now: 0 };
  const memory = createLocalMemory();
  const quota = createQuota(limits, () => clock.now, memory);
  for (let minute = 0; minute < 1_400; minute += 1) {
    clock.now = minute * 60_000;
    await quota.spend(1);
  }
  expect((await memory.read()).length).toBeLessThan(145);
  expect(await quota.jobs()).toEqual({ used: 1_400, limit: 1_400 });
  clock.now = dayMs + 9 * 60_000 - 1;
  expect((await quota.jobs()).used).toBe(1_400);
});

test('changed calls are due once their interval has passed, also when the memory was summed up meanwhile', async () => {
  const clock = { now: 0 };
  const quota = createLocalQuota(limits, () => clock.now);
  expect(await quota.waitMs('changes')).toBe(0);
  await quota.spend(1, true);
  for (let minute = 1; minute < 10; minute += 1) {
    clock.now = minute * 60_000;
    expect(await quota.waitMs('changes')).toBe((10 - minute) * 60_000);
    await quota.spend(1);
  }
  clock.now = 600_000;
  expect(await quota.waitMs('changes')).toBe(0);
});

test('an idle warehouse spends nothing and commits at once', async () => {
  const clock = { now: 0 };
  const quota = createLocalQuota(limits, () => clock.now);
  await quota.spend(1);
  expect(await quota.waitMs('interval')).toBeGreaterThan(60_000);
  clock.now += hourMs;
  expect(await quota.jobs()).toEqual({ used: 1, limit: 1_400 });
  expect(await quota.waitMs('interval')).toBe(0);
});
