/**
 * Paces commits so that they stay inside BigQuery's quotas, over a rolling day as BigQuery counts them.
 *
 * Documented limits that concern a commit: 1,500 load jobs a table and day (each commit has a staging table of its
 * own, so ours are 1; we count as if all went into one table), 4,000 partitions in a job (see partitions.ts), 5
 * metadata updates of a table in 10 s, 2 mutating statements on a table at once and 20 waiting (one commit at a time
 * runs them one after the other). Statements of DML count neither as modifications of a table nor of a partition.
 *
 * Every commit takes calls in the order of the queue, new ones first. So it is enough that some commit comes in every
 * interval, whoever asked for it: commits before their interval is over are extra, and a part of the day bounds them.
 */
import { dayMs } from '../../lib/day.ts';
import type { BigqueryWarehouseConfig } from './config.ts';

interface QuotaLimits {
  readonly jobsPerDay: number;
  /** Commits in any 10 s. */
  readonly burst: number;
  readonly commitIntervalMs: number;
  /** Between two commits that change calls which the warehouse has already. */
  readonly changesIntervalMs: number;
}

/** One commit as the quota remembers it, or a few of them. */
interface SpentCommit {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Load jobs submitted, including those that failed: BigQuery counts them too. */
  readonly jobs: number;
  /** Of those, jobs before the interval was over. */
  readonly extra?: number;
  /** When the last commit began that changed calls, up to this one. */
  readonly changedAt?: number | undefined;
}

/** `interval`: when a commit is next due. `any`: when the next one may start, due or extra. `changes`: when changed calls are due. */
type Pace = 'interval' | 'any' | 'changes';

const burstMs = 10_000;
const bucketMs = 600_000;
/** Commits in any 10 s: tables without partitions allow 5 metadata updates in that time, and a commit makes one. */
const maxBurst = 4;
/** Extra commits wait while more than this part of a day's quota is used; the rest keeps the interval going. */
const extraShare = 0.25;
/** Part that the steady interval uses, so that it never waits for a whole bucket to expire. */
const steadyShare = 0.98;

const defaultChangesIntervalS = 600;

/** An emulator has no quotas, only the interval. */
export const limitsOf = (config: BigqueryWarehouseConfig): QuotaLimits => {
  const isEmulated = config.api_endpoint !== undefined;
  const none = Number.MAX_SAFE_INTEGER;
  return {
    jobsPerDay: isEmulated ? none : config.quota.jobs_per_day,
    burst: isEmulated ? none : maxBurst,
    commitIntervalMs: config.commit_interval_s * 1000,
    changesIntervalMs: (config.changes_interval_s ?? (isEmulated ? 0 : defaultChangesIntervalS)) * 1000,
  };
};

const sumOf = (spent: readonly SpentCommit[], of: (commit: SpentCommit) => number): number =>
  spent.reduce((sum, commit) => sum + of(commit), 0);

/** When the next commit is due by an interval that can be kept up for ever, whatever extra commits there were. */
const dueAt = (spent: readonly SpentCommit[], { commitIntervalMs, jobsPerDay }: QuotaLimits): number => {
  const steady = steadyShare * jobsPerDay - sumOf(spent, ({ extra = 0 }) => extra);
  return (spent.at(-1)?.at ?? Number.NEGATIVE_INFINITY) + Math.max(commitIntervalMs, dayMs / Math.max(1, steady));
};

/** When enough has left the rolling window for one more job; never before `now`. */
const afterWindow = (
  spent: readonly SpentCommit[],
  { now, lengthMs, limit }: { readonly now: number; readonly lengthMs: number; readonly limit: number },
): number => {
  const inside = spent.filter((commit) => commit.at > now - lengthMs);
  let used = sumOf(inside, ({ jobs }) => jobs);
  let at = now;
  for (const commit of inside) {
    if (used + 1 <= limit) break;
    used -= commit.jobs;
    at = commit.at + lengthMs;
  }
  return at;
};

/** Earliest time, not before `now`, at which a commit may start; milliseconds since the epoch. Pure. */
const nextCommitAt = (spent: readonly SpentCommit[], limits: QuotaLimits, now: number, pace: Pace): number => {
  const within = (lengthMs: number, limit: number) => afterWindow(spent, { now, lengthMs, limit });
  const due = dueAt(spent, limits);
  const paced = {
    interval: () => due,
    any: () => Math.min(due, within(dayMs, Math.ceil(extraShare * limits.jobsPerDay))),
    changes: () => (spent.at(-1)?.changedAt ?? Number.NEGATIVE_INFINITY) + limits.changesIntervalMs,
  }[pace]();
  return Math.max(now, paced, within(burstMs, limits.burst), within(dayMs, limits.jobsPerDay));
};

/** Where the commits of the last 24 hours are kept, oldest first: shared by all processes that load the warehouse. */
export interface QuotaMemory {
  read(): Promise<readonly SpentCommit[]>;
  write(spent: readonly SpentCommit[]): Promise<void>;
}

export interface Quota {
  /** Milliseconds to wait before a commit of that pace; 0 = start now. */
  waitMs(pace: Pace): Promise<number>;
  /** Records a commit: its load jobs, and whether it changed calls. */
  spend(jobs: number, hasChanges?: boolean): Promise<void>;
  /** Load jobs of the last 24 hours, and how many there may be; infinite where nothing limits them. */
  jobs(): Promise<{ readonly used: number; readonly limit: number }>;
}

/** `clock` tells milliseconds since the epoch. Without `memory`, only this process is counted. */
export const createQuota = (
  limits: QuotaLimits,
  clock: () => number,
  memory: QuotaMemory = createLocalMemory(),
): Quota => {
  const read = async (): Promise<readonly SpentCommit[]> => {
    const since = clock() - dayMs;
    return (await memory.read()).filter((commit) => commit.at > since);
  };
  return {
    async waitMs(pace) {
      const now = clock();
      return nextCommitAt(await read(), limits, now, pace) - now;
    },
    async spend(jobs, hasChanges = false) {
      const before = await read();
      const at = clock();
      const extra = at < dueAt(before, limits) ? jobs : 0;
      const changedAt = hasChanges ? at : before.at(-1)?.changedAt;
      await memory.write(compactSpent([...before, { at, jobs, extra, changedAt }], at));
    },
    async jobs() {
      const { jobsPerDay } = limits;
      const limit = jobsPerDay === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : jobsPerDay;
      return { used: sumOf(await read(), ({ jobs }) => jobs), limit };
    },
  };
};

const createLocalMemory = (): QuotaMemory => {
  let spent: readonly SpentCommit[] = [];
  return {
    read: async () => spent,
    write: async (next) => {
      spent = next;
    },
  };
};

/** Sums up commits older than a bucket, dated by the last one of each bucket: a day fits in about 150 entries. */
export const compactSpent = (spent: readonly SpentCommit[], now: number): readonly SpentCommit[] => {
  const buckets = new Map<number, SpentCommit>();
  const recent: SpentCommit[] = [];
  for (const commit of spent) {
    const bucket = Math.floor(commit.at / bucketMs);
    const before = buckets.get(bucket);
    const both = [...(before === undefined ? [] : [before]), commit];
    if (commit.at > now - bucketMs) recent.push(commit);
    else
      buckets.set(bucket, {
        ...commit,
        jobs: sumOf(both, ({ jobs }) => jobs),
        extra: sumOf(both, ({ extra = 0 }) => extra),
      });
  }
  return [...buckets.values(), ...recent];
};
