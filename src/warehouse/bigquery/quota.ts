/**
 * Paces commits so that they stay inside BigQuery's quotas, over a rolling day as BigQuery counts them.
 *
 * Documented limits that concern a commit: 1,500 load jobs a table and day (each commit has a staging table of its
 * own, so ours are 1; we count as if all went into one table), 4,000 partitions in a job (see dedupe-batch.ts), 5
 * metadata updates of a table in 10 s, 2 mutating statements on a table at once and 20 waiting (one commit at a time
 * runs them one after the other). Statements of DML count neither as modifications of a table nor of a partition.
 */
import type { BigqueryWarehouseConfig } from '../../../schemas/config/warehouses.ts';

export interface QuotaLimits {
  readonly jobsPerDay: number;
  /** Commits in any 10 s. */
  readonly burst: number;
  readonly commitIntervalMs: number;
  /** Between two commits that change calls which the warehouse has already. */
  readonly changesIntervalMs: number;
}

/** One commit as the quota remembers it. */
export interface SpentCommit {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Load jobs submitted, including those that failed: BigQuery counts them too. */
  readonly jobs: number;
  /** Bytes that it is estimated to bill. */
  readonly billedBytes?: number;
  /** When the last commit began that changed calls, up to this one. */
  readonly changedAt?: number | undefined;
}

/**
 * `interval`: when continuous work is next due. `quota`: when only the quotas forbid a commit. `bulk`: the same for
 * backfill, rebuild and fill, which leave a part of the day's quota to the rest. `changes`: when changed calls are next due.
 */
export type Pace = 'interval' | 'quota' | 'bulk' | 'changes';

const dayMs = 86_400_000;
const burstMs = 10_000;
const bucketMs = 600_000;
/** What was billed in less than this says little of a day. */
const leastSpanMs = 3_600_000;
/** Commits in any 10 s: tables without partitions allow 5 metadata updates in that time, and a commit makes one. */
const maxBurst = 4;
/** Part of a day's quota that bulk work may use; the rest is kept for calls that arrive meanwhile. */
const bulkShare = 0.8;
/** Part that the steady interval uses, so that it never waits for a whole bucket to expire. */
const steadyShare = 0.98;

const defaultChangesIntervalS = 600;

/** An emulator has no quotas, only the interval. */
export const limitsOf = (config: BigqueryWarehouseConfig): QuotaLimits => {
  const commitIntervalMs = config.commit_interval_s * 1000;
  const isEmulated = config.api_endpoint !== undefined;
  const changesIntervalMs = (config.changes_interval_s ?? (isEmulated ? 0 : defaultChangesIntervalS)) * 1000;
  const intervals = { commitIntervalMs, changesIntervalMs };
  if (!isEmulated) return { jobsPerDay: config.quota.jobs_per_day, burst: maxBurst, ...intervals };
  return { jobsPerDay: Number.MAX_SAFE_INTEGER, burst: Number.MAX_SAFE_INTEGER, ...intervals };
};

/** Earliest time, not before `now`, at which a commit may start; milliseconds since the epoch. Pure. */
const nextCommitAt = (
  spent: readonly SpentCommit[],
  limits: QuotaLimits,
  { now, pace }: { readonly now: number; readonly pace: Pace },
): number => {
  const daily = Math.floor((pace === 'bulk' ? bulkShare : 1) * limits.jobsPerDay);
  const last = spent.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  const lastChanges = spent.at(-1)?.changedAt ?? Number.NEGATIVE_INFINITY;
  return Math.max(
    now,
    pace === 'interval' ? last + steadyIntervalMs(limits) : now,
    pace === 'changes' ? lastChanges + limits.changesIntervalMs : now,
    afterWindow(spent, { now, lengthMs: burstMs, limit: limits.burst, weigh: () => 1 }),
    afterWindow(spent, { now, lengthMs: dayMs, limit: daily, weigh: ({ jobs }) => jobs }),
  );
};

/** The shortest interval that can be kept up for ever. */
const steadyIntervalMs = ({ commitIntervalMs, jobsPerDay }: QuotaLimits): number =>
  Math.max(commitIntervalMs, dayMs / (steadyShare * jobsPerDay));

/** When enough has left the rolling window for one more commit; never before `now`. */
const afterWindow = (
  spent: readonly SpentCommit[],
  window: {
    readonly now: number;
    readonly lengthMs: number;
    readonly limit: number;
    readonly weigh: (commit: SpentCommit) => number;
  },
): number => {
  const { now, lengthMs, limit, weigh } = window;
  const inside = spent.filter((commit) => commit.at > now - lengthMs);
  let used = inside.reduce((sum, commit) => sum + weigh(commit), 0);
  let at = now;
  for (const commit of inside) {
    if (used + 1 <= limit) break;
    used -= weigh(commit);
    at = commit.at + lengthMs;
  }
  return at;
};

export interface QuotaStatus {
  readonly jobs: { readonly used: number; readonly limit: number };
  /** Milliseconds until a commit of continuous sync may start. */
  readonly nextCommitInMs: number;
  /** Estimated bytes that a day bills at the pace of the last 24 hours. */
  readonly billedBytesPerDay: number;
}

/** Where the commits of the last 24 hours are kept, oldest first: shared by all processes that load the warehouse. */
export interface QuotaMemory {
  read(): Promise<readonly SpentCommit[]>;
  write(spent: readonly SpentCommit[]): Promise<void>;
}

export interface Quota {
  /** Milliseconds to wait before a commit of that pace; 0 = start now. */
  waitMs(pace: Pace): Promise<number>;
  /** Records a commit: its load jobs, what it is estimated to bill, and whether it changed calls. */
  spend(jobs: number, commit?: { readonly billedBytes: number; readonly hasChanges: boolean }): Promise<void>;
  status(): Promise<QuotaStatus>;
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
  const waitMs: Quota['waitMs'] = async (pace) => {
    const now = clock();
    return nextCommitAt(await read(), limits, { now, pace }) - now;
  };
  return {
    waitMs,
    async spend(jobs, { billedBytes, hasChanges } = { billedBytes: 0, hasChanges: false }) {
      const before = await read();
      const at = clock();
      const changedAt = hasChanges ? at : before.at(-1)?.changedAt;
      await memory.write(compactSpent([...before, { at, jobs, billedBytes, changedAt }], at));
    },
    async status() {
      const spent = await read();
      const sum = (of: (commit: SpentCommit) => number) => spent.reduce((total, commit) => total + of(commit), 0);
      const span = Math.min(dayMs, Math.max(clock() - (spent[0]?.at ?? clock()), leastSpanMs));
      return {
        jobs: { used: sum(({ jobs }) => jobs), limit: limits.jobsPerDay },
        nextCommitInMs: await waitMs('interval'),
        billedBytesPerDay: (sum(({ billedBytes = 0 }) => billedBytes) * dayMs) / span,
      };
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
    if (commit.at > now - bucketMs) recent.push(commit);
    else {
      const billedBytes = (commit.billedBytes ?? 0) + (before?.billedBytes ?? 0);
      buckets.set(bucket, { ...commit, jobs: commit.jobs + (before?.jobs ?? 0), billedBytes });
    }
  }
  return [...buckets.values(), ...recent];
};

/** One line for `callsync status`. */
export const describeQuota = ({ jobs: { used, limit }, nextCommitInMs, billedBytesPerDay }: QuotaStatus): string => {
  const jobs = limit === Number.MAX_SAFE_INTEGER ? String(used) : `${used}/${limit}`;
  const next = nextCommitInMs === 0 ? 'at once' : `in ${Math.ceil(nextCommitInMs / 1000)} s`;
  return `load jobs ${jobs} in 24 h; next commit ${next}; bills an estimated ${(billedBytesPerDay / 1e9).toFixed(1)} GB a day`;
};
