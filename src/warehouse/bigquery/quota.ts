/**
 * Paces commits within BigQuery's quotas, over a rolling day as BigQuery counts them.
 * Limits of a commit: 1,500 load jobs a table and day, 4,000 partitions in a job, 5 metadata updates of a
 * table in 10 s. Each commit has its own staging table, but counts as if all went into one. Commits run one after the
 * other, because a table allows 2 mutating statements at once. DML does not count as a modification.
 * Every commit takes new calls first, so one commit in every interval is enough. Earlier commits are extra, and a
 * part of the day bounds them.
 */
import { dayMs } from '../../lib/timestamps.ts';
import type { BigqueryWarehouseConfig } from './config.ts';

type QuotaLimits = ReturnType<typeof limitsOf>;

/** The commits of ten minutes, so that a day fits in 144 entries. */
interface SpentCommits {
  /** When the last of them began, in milliseconds since the epoch: they expire with it. */
  readonly at: number;
  /** Load jobs submitted, including those that failed: BigQuery counts them too. */
  readonly jobs: number;
  /** Of those, jobs before the interval was over. */
  readonly extra?: number;
  /** When the last commit began that changed calls, up to these. */
  readonly changedAt?: number | undefined;
}

/** `interval`: when a commit is next due. `any`: when the next commit may start, due or extra. `changes`: when changed calls are due. */
type Pace = 'interval' | 'any' | 'changes';

const entryMs = 600_000;
/** Extra commits wait while more than this part of the daily quota is used. The rest is for commits at the interval. */
const extraShare = 0.25;
/** Part that the steady interval uses, so that it never waits for a whole entry to expire. */
const steadyShare = 0.98;

const defaultChangesIntervalS = 600;

/** An emulator has no quotas, only the interval. */
export const limitsOf = (config: BigqueryWarehouseConfig) => {
  const isEmulated = config.api_endpoint !== undefined;
  return {
    jobsPerDay: isEmulated ? Number.POSITIVE_INFINITY : config.quota.jobs_per_day,
    /** Shortest time between two commits, in milliseconds. A table without partitions allows 5 metadata updates in 10 s, and a commit makes one. */
    spacingMs: isEmulated ? 0 : 2_500,
    commitIntervalMs: config.commit_interval_s * 1000,
    /** Time between two commits that change existing calls. */
    changesIntervalMs: (config.changes_interval_s ?? (isEmulated ? 0 : defaultChangesIntervalS)) * 1000,
  };
};

/** Due time of the next commit by the sustainable interval, regardless of extra commits. */
const dueAt = (spent: readonly SpentCommits[], { commitIntervalMs, jobsPerDay }: QuotaLimits): number => {
  const steady = steadyShare * jobsPerDay - spent.reduce((sum, { extra = 0 }) => sum + extra, 0);
  return (spent.at(-1)?.at ?? Number.NEGATIVE_INFINITY) + Math.max(commitIntervalMs, dayMs / Math.max(1, steady));
};

const countJobs = (spent: readonly SpentCommits[]): number => spent.reduce((sum, { jobs }) => sum + jobs, 0);

/** Earliest time at which the daily limit allows one more job. */
const freeAt = (spent: readonly SpentCommits[], limit: number): number => {
  let used = countJobs(spent);
  let at = Number.NEGATIVE_INFINITY;
  for (const commits of spent) {
    if (used + 1 <= limit) break;
    used -= commits.jobs;
    at = commits.at + dayMs;
  }
  return at;
};

/** Earliest time, not before `now`, at which a commit may start; milliseconds since the epoch. Pure. */
const nextCommitAt = (spent: readonly SpentCommits[], limits: QuotaLimits, now: number, pace: Pace): number => {
  const { jobsPerDay, spacingMs, changesIntervalMs } = limits;
  const last = spent.at(-1);
  const due = dueAt(spent, limits);
  const paced = {
    interval: () => due,
    any: () => Math.min(due, freeAt(spent, Math.ceil(extraShare * jobsPerDay))),
    changes: () => (last?.changedAt ?? Number.NEGATIVE_INFINITY) + changesIntervalMs,
  }[pace]();
  return Math.max(now, paced, (last?.at ?? Number.NEGATIVE_INFINITY) + spacingMs, freeAt(spent, jobsPerDay));
};

/** Where the commits of the last 24 hours are kept, oldest first: shared by all processes that load the warehouse. */
type QuotaMemory = { read(): Promise<readonly SpentCommits[]>; write(spent: readonly SpentCommits[]): Promise<void> };

export type Quota = ReturnType<typeof createQuota>;

/** `clock` tells milliseconds since the epoch. */
export const createQuota = (limits: QuotaLimits, clock: () => number, memory: QuotaMemory) => {
  const read = async (): Promise<readonly SpentCommits[]> => {
    const since = clock() - dayMs;
    return (await memory.read()).filter(({ at }) => at > since);
  };
  return {
    /** Milliseconds to wait before a commit of that pace; 0 = start now. */
    async waitMs(pace: Pace) {
      const now = clock();
      return nextCommitAt(await read(), limits, now, pace) - now;
    },
    /** Records a commit: its load jobs, and whether it changed calls. */
    async spend(jobs: number, hasChanges: boolean = false) {
      const spent = await read();
      const at = clock();
      const extra = at < dueAt(spent, limits) ? jobs : 0;
      const last = spent.at(-1);
      const changedAt = hasChanges ? at : last?.changedAt;
      const isSame = last !== undefined && Math.floor(last.at / entryMs) === Math.floor(at / entryMs);
      const before: Pick<SpentCommits, 'jobs' | 'extra'> = isSame ? last : { jobs: 0 };
      const sum = { at, jobs: jobs + before.jobs, extra: extra + (before.extra ?? 0), changedAt };
      await memory.write([...(isSame ? spent.slice(0, -1) : spent), sum]);
    },
    /** Load jobs of the last 24 hours, and their limit; infinite without a limit. */
    jobs: async () => ({ used: countJobs(await read()), limit: limits.jobsPerDay }),
  };
};
