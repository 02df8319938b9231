import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../schemas/config/warehouses.ts';
import {
  type Budget,
  compactSpent,
  createBudget,
  describeBudget,
  limitsOf,
  modificationsPerPartition,
} from '../../../src/warehouse/bigquery/budget.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const limits = limitsOf(bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'p' }));

interface Commit {
  readonly at: number;
  readonly partitions: number;
}

/** Every documented limit, over every window that ends with a commit. */
const checkDocumentedLimits = (commits: readonly Commit[]): void => {
  let firstOfDay = 0;
  let firstOf10s = 0;
  let partitionsOfDay = 0;
  for (const [index, commit] of commits.entries()) {
    partitionsOfDay += commit.partitions * modificationsPerPartition;
    while ((commits[firstOfDay] as Commit).at <= commit.at - dayMs) {
      partitionsOfDay -= (commits[firstOfDay] as Commit).partitions * modificationsPerPartition;
      firstOfDay += 1;
    }
    while ((commits[firstOf10s] as Commit).at <= commit.at - 10_000) firstOf10s += 1;
    // Load jobs and modifications of a table a day: 1,500, even if every commit loaded the same table.
    expect(index - firstOfDay + 1).toBeLessThanOrEqual(1_500);
    // Partition modifications of a column-partitioned table a day: 30,000, even if changing statements counted.
    expect(partitionsOfDay).toBeLessThanOrEqual(30_000);
    // Partitions modified by one job: 4,000.
    expect(commit.partitions * modificationsPerPartition).toBeLessThanOrEqual(4_000);
    // Metadata updates of a table without partitions in 10 s: 5; of one with partitions: 50.
    expect(index - firstOf10s + 1).toBeLessThanOrEqual(5);
  }
};

/** Runs virtual time: at each instant whoever may commit does, one after the other. */
const simulate = async (
  budget: Budget,
  clock: { now: number },
  work: { readonly hours: number; readonly pace: 'interval' | 'bulk'; readonly partitions: (n: number) => number },
): Promise<Commit[]> => {
  const end = clock.now + work.hours * hourMs;
  const commits: Commit[] = [];
  for (;;) {
    const partitions = work.partitions(commits.length);
    clock.now += await budget.waitMs({ partitions, pace: work.pace });
    if (clock.now >= end) break;
    await budget.spend({ jobs: 1, partitions });
    commits.push({ at: clock.now, partitions });
    // A commit takes its time: a load job and a script.
    clock.now += 2_000;
  }
  clock.now = end;
  return commits;
};

test('48 hours of continuous sync stay inside every documented limit, and never stop for long', async () => {
  const clock = { now: 0 };
  const budget = createBudget(limits, () => clock.now);
  const commits = await simulate(budget, clock, { hours: 48, pace: 'interval', partitions: () => 3 });
  checkDocumentedLimits(commits);
  expect(commits.length).toBeGreaterThan(2_700);
  const pauses = commits.slice(1).map((commit, index) => commit.at - (commits[index] as Commit).at);
  expect(Math.max(...pauses)).toBeLessThan(70_000);
});

test('many partitions a commit slow the pace instead of exhausting the quota', async () => {
  const clock = { now: 0 };
  const budget = createBudget(limits, () => clock.now);
  const commits = await simulate(budget, clock, {
    hours: 48,
    pace: 'interval',
    partitions: (n) => 1 + ((n * 37) % 400),
  });
  checkDocumentedLimits(commits);
  expect(commits.length).toBeGreaterThan(100);
});

test('a backfill that takes what it can leaves a part of the day to what arrives, and stays inside the limits', async () => {
  const clock = { now: 0 };
  const budget = createBudget(limits, () => clock.now);
  const bulk = await simulate(budget, clock, { hours: 6, pace: 'bulk', partitions: () => 2 });
  const sync = await simulate(budget, clock, { hours: 3, pace: 'interval', partitions: () => 2 });
  checkDocumentedLimits([...bulk, ...sync]);
  expect(bulk.length).toBe(Math.floor(0.8 * limits.jobsPerDay));
  expect(sync.length).toBeGreaterThan(150);
});

test('wide backfill commits stay inside the partition quota', async () => {
  const clock = { now: 0 };
  const budget = createBudget(limits, () => clock.now);
  const commits = await simulate(budget, clock, { hours: 48, pace: 'bulk', partitions: () => 2_000 });
  checkDocumentedLimits(commits);
  expect(commits.length).toBeGreaterThan(8);
});

test('a restart does not forget what is spent', async () => {
  const spent = Array.from({ length: 1_400 }, (_, at) => ({ at: at * 1_000, jobs: 1, partitionModifications: 4 }));
  const memory = { read: async () => spent, write: async () => undefined };
  const budget = createBudget(limits, () => 1_400_000, memory);
  expect(await budget.waitMs({ partitions: 2, pace: 'quota' })).toBe(dayMs - 1_400_000);
  expect(await createBudget(limits, () => 1_400_000).waitMs({ partitions: 2, pace: 'quota' })).toBe(0);
});

test('what is remembered of a day stays small, forgets nothing and expires no earlier', () => {
  const spent = Array.from({ length: 1_400 }, (_, n) => ({ at: n * 60_000, jobs: 1, partitionModifications: 4 }));
  const now = 1_400 * 60_000;
  const compact = compactSpent(compactSpent(spent, now), now);
  expect(compact.length).toBeLessThan(160);
  const total = (list: typeof compact) => list.reduce((sum, { jobs }) => sum + jobs, 0);
  expect(total(compact)).toBe(1_400);
  for (const since of [now - dayMs / 2, now - 700_000, now - 60_000]) {
    expect(total(compact.filter(({ at }) => at > since))).toBeGreaterThanOrEqual(
      total(spent.filter(({ at }) => at > since)),
    );
  }
});

test('an idle warehouse spends nothing and commits at once', async () => {
  const clock = { now: 0 };
  const budget = createBudget(limits, () => clock.now);
  await budget.spend({ jobs: 1, partitions: 2 });
  expect((await budget.status()).nextCommitInMs).toBeGreaterThan(60_000);
  clock.now += hourMs;
  expect((await budget.status()).nextCommitInMs).toBe(0);
  expect(describeBudget(await budget.status())).toBe(
    'load jobs 1/1400 and partition modifications 4/28000 in 24 h; next commit at once',
  );
});
