import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../schemas/config/warehouses.ts';
import {
  compactSpent,
  createQuota,
  describeQuota,
  limitsOf,
  type Quota,
} from '../../../src/warehouse/bigquery/quota.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const limits = limitsOf(bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'p' }));

/** Every documented limit, over every window that ends with a commit; `commits` are their times. */
const checkDocumentedLimits = (commits: readonly number[]): void => {
  let firstOfDay = 0;
  let firstOf10s = 0;
  for (const [index, at] of commits.entries()) {
    while ((commits[firstOfDay] as number) <= at - dayMs) firstOfDay += 1;
    while ((commits[firstOf10s] as number) <= at - 10_000) firstOf10s += 1;
    // Load jobs of a table a day: 1,500, even if every commit loaded the same table.
    expect(index - firstOfDay + 1).toBeLessThanOrEqual(1_500);
    // Metadata updates of a table without partitions in 10 s: 5; of one with partitions: 50.
    expect(index - firstOf10s + 1).toBeLessThanOrEqual(5);
  }
};

/** Runs virtual time: as soon as a commit may start, it does, one after the other. */
const simulate = async (
  quota: Quota,
  clock: { now: number },
  { hours, pace }: { readonly hours: number; readonly pace: 'interval' | 'bulk' },
): Promise<number[]> => {
  const end = clock.now + hours * hourMs;
  const commits: number[] = [];
  for (;;) {
    clock.now += await quota.waitMs(pace);
    if (clock.now >= end) break;
    await quota.spend(1);
    commits.push(clock.now);
    // A commit takes its time: a load job and a script.
    clock.now += 2_000;
  }
  clock.now = end;
  return commits;
};

test('48 hours of continuous sync stay inside every documented limit, and never stop for long', async () => {
  const clock = { now: 0 };
  const quota = createQuota(limits, () => clock.now);
  const commits = await simulate(quota, clock, { hours: 48, pace: 'interval' });
  checkDocumentedLimits(commits);
  expect(commits.length).toBeGreaterThan(2_700);
  const pauses = commits.slice(1).map((at, index) => at - (commits[index] as number));
  expect(Math.max(...pauses)).toBeLessThan(70_000);
});

test('a backfill that takes what it can leaves a part of the day to what arrives, and stays inside the limits', async () => {
  const clock = { now: 0 };
  const quota = createQuota(limits, () => clock.now);
  const bulk = await simulate(quota, clock, { hours: 6, pace: 'bulk' });
  const sync = await simulate(quota, clock, { hours: 3, pace: 'interval' });
  checkDocumentedLimits([...bulk, ...sync]);
  expect(bulk.length).toBe(Math.floor(0.8 * limits.jobsPerDay));
  expect(sync.length).toBeGreaterThan(150);
});

test('a restart does not forget what is spent', async () => {
  const spent = Array.from({ length: 1_400 }, (_, at) => ({ at: at * 1_000, jobs: 1 }));
  const memory = { read: async () => spent, write: async () => undefined };
  const quota = createQuota(limits, () => 1_400_000, memory);
  expect(await quota.waitMs('quota')).toBe(dayMs - 1_400_000);
  expect(await createQuota(limits, () => 1_400_000).waitMs('quota')).toBe(0);
});

test('what is remembered of a day stays small, forgets nothing and expires no earlier', () => {
  const spent = Array.from({ length: 1_400 }, (_, n) => ({ at: n * 60_000, jobs: 1 }));
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

test('changed calls are due once their interval has passed, also when what is remembered was summed up meanwhile', async () => {
  const clock = { now: 0 };
  const quota = createQuota(limits, () => clock.now);
  expect(await quota.waitMs('changes')).toBe(0);
  await quota.spend(1, { billedBytes: 5e9, hasChanges: true });
  for (let minute = 1; minute < 10; minute += 1) {
    clock.now = minute * 60_000;
    expect(await quota.waitMs('changes')).toBe((10 - minute) * 60_000);
    await quota.spend(1, { billedBytes: 1e8, hasChanges: false });
  }
  clock.now = 600_000;
  expect(await quota.waitMs('changes')).toBe(0);
  clock.now = 12 * hourMs;
  await quota.spend(1, { billedBytes: 1e8, hasChanges: true });
  const { billedBytesPerDay } = await quota.status();
  expect(billedBytesPerDay).toBeGreaterThan(2 * 6e9);
  expect(billedBytesPerDay).toBeLessThan(2.1 * 6e9);
});

test('an idle warehouse spends nothing and commits at once', async () => {
  const clock = { now: 0 };
  const quota = createQuota(limits, () => clock.now);
  await quota.spend(1);
  expect((await quota.status()).nextCommitInMs).toBeGreaterThan(60_000);
  clock.now += hourMs;
  expect((await quota.status()).nextCommitInMs).toBe(0);
  expect(describeQuota(await quota.status())).toBe(
    'load jobs 1/1400 in 24 h; next commit at once; bills an estimated 0.0 GB a day',
  );
});
