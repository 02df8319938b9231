/**
 * Paces commits so that they stay inside BigQuery's quotas, over a rolling day as BigQuery counts them.
 *
 * Documented limits that bear on a commit: 1,500 load jobs a table and day (each commit has a staging table of its
 * own, so ours are 1), 1,500 modifications of a table and 30,000 of partitions a day (statements of DML do not count;
 * we count ours all the same), 4,000 partitions in a job, 5 metadata updates of a table in 10 s, 2 changing statements
 * on a table at once and 20 waiting (one commit at a time runs them one after the other).
 */
import type { BigqueryWarehouseConfig } from '../../../schemas/config/warehouses.ts';

export interface BudgetLimits {
  readonly jobsPerDay: number;
  readonly modificationsPerDay: number;
  readonly partitionModificationsPerDay: number;
  /** Commits in any 10 s. */
  readonly burst: number;
  readonly commitIntervalMs: number;
}

/** One commit as the budget remembers it. */
export interface SpentCommit {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Load jobs submitted, those that failed included: they count too. */
  readonly jobs: number;
  /** Partitions touched, times the statements that touch them. */
  readonly partitionModifications: number;
}

/**
 * `interval`: when continuous work is next due. `quota`: when nothing but quotas forbids a commit. `bulk`: the same for
 * backfill, rebuild and fill, which leave a part of the day's budget to the rest.
 */
export type Pace = 'interval' | 'quota' | 'bulk';

const dayMs = 86_400_000;
const burstMs = 10_000;
const bucketMs = 600_000;
/** Commits in any 10 s: tables without partitions may have 5 metadata updates in that time, and a commit makes one. */
const maxBurst = 4;
/** Part of a day's budget that bulk work may use; the rest is kept for what arrives meanwhile. */
const bulkShare = 0.8;
/** What the steady interval uses, so that buckets, which expire as a whole, never make it wait. */
const steadyShare = 0.98;
/** Partitions that a commit of continuous sync usually touches: today and yesterday. */
const usualPartitions = 2;
/** Deleted from once and inserted into once. */
export const modificationsPerPartition = 2;

/** An emulator has no quotas, only the interval. */
export const limitsOf = (config: BigqueryWarehouseConfig): BudgetLimits => {
  const commitIntervalMs = config.commit_interval_s * 1000;
  const none = Number.MAX_SAFE_INTEGER;
  if (config.api_endpoint !== undefined) {
    return {
      jobsPerDay: none,
      modificationsPerDay: none,
      partitionModificationsPerDay: none,
      burst: none,
      commitIntervalMs,
    };
  }
  return {
    jobsPerDay: config.budget.jobs_per_day,
    modificationsPerDay: config.budget.modifications_per_day,
    partitionModificationsPerDay: config.budget.partition_modifications_per_day,
    burst: maxBurst,
    commitIntervalMs,
  };
};

/** Earliest time, not before `now`, at which a commit that touches `partitions` may start. Pure. */
export const nextCommitAt = (
  spent: readonly SpentCommit[],
  limits: BudgetLimits,
  request: { readonly now: number; readonly partitions: number; readonly pace: Pace },
): number => {
  const share = request.pace === 'bulk' ? bulkShare : 1;
  const cost = request.partitions * modificationsPerPartition;
  const daily = Math.floor(share * Math.min(limits.jobsPerDay, limits.modificationsPerDay));
  const partitionsDaily = Math.max(cost, Math.floor(share * limits.partitionModificationsPerDay));
  const last = spent.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  return Math.max(
    request.now,
    request.pace === 'interval' ? last + steadyIntervalMs(limits, cost) : request.now,
    afterWindow(spent, { lengthMs: burstMs, limit: limits.burst, own: 1, weigh: () => 1, ...request }),
    afterWindow(spent, { lengthMs: dayMs, limit: daily, own: 1, weigh: ({ jobs }) => jobs, ...request }),
    afterWindow(spent, {
      lengthMs: dayMs,
      limit: partitionsDaily,
      own: cost,
      weigh: ({ partitionModifications }) => partitionModifications,
      ...request,
    }),
  );
};

/** The interval that could be kept up for ever. */
const steadyIntervalMs = (limits: BudgetLimits, cost: number): number =>
  Math.max(
    limits.commitIntervalMs,
    dayMs / (steadyShare * Math.min(limits.jobsPerDay, limits.modificationsPerDay)),
    (dayMs * cost) / (steadyShare * limits.partitionModificationsPerDay),
  );

/** When enough has left the rolling window for `own` to fit under `limit`. */
const afterWindow = (
  spent: readonly SpentCommit[],
  window: {
    readonly now: number;
    readonly lengthMs: number;
    readonly limit: number;
    readonly own: number;
    readonly weigh: (commit: SpentCommit) => number;
  },
): number => {
  const { now, lengthMs, limit, own, weigh } = window;
  const inside = spent.filter((commit) => commit.at > now - lengthMs);
  let used = inside.reduce((sum, commit) => sum + weigh(commit), 0);
  let at = now;
  for (const commit of inside) {
    if (used + own <= limit) break;
    used -= weigh(commit);
    at = commit.at + lengthMs;
  }
  return at;
};

export interface BudgetStatus {
  readonly jobs: { readonly used: number; readonly limit: number };
  readonly partitionModifications: { readonly used: number; readonly limit: number };
  /** Milliseconds until a commit of continuous sync may start. */
  readonly nextCommitInMs: number;
}

/** Where the commits of the last 24 hours are kept, oldest first: shared by all processes that load the warehouse. */
export interface BudgetMemory {
  read(): Promise<readonly SpentCommit[]>;
  write(spent: readonly SpentCommit[]): Promise<void>;
}

export interface Budget {
  /** Milliseconds to wait before a commit that touches that many partitions; 0 = go. */
  waitMs(request: { readonly partitions: number; readonly pace: Pace }): Promise<number>;
  spend(commit: { readonly jobs: number; readonly partitions: number }): Promise<void>;
  status(): Promise<BudgetStatus>;
}

export const createBudget = (
  limits: BudgetLimits,
  clock: () => number,
  memory: BudgetMemory = createLocalMemory(),
): Budget => {
  const read = async (): Promise<readonly SpentCommit[]> => {
    const since = clock() - dayMs;
    return (await memory.read()).filter((commit) => commit.at > since);
  };
  const waitMs: Budget['waitMs'] = async ({ partitions, pace }) => {
    const now = clock();
    return nextCommitAt(await read(), limits, { now, partitions, pace }) - now;
  };
  return {
    waitMs,
    async spend({ jobs, partitions }) {
      const commit = { at: clock(), jobs, partitionModifications: partitions * modificationsPerPartition };
      await memory.write(compactSpent([...(await read()), commit], clock()));
    },
    async status() {
      const spent = await read();
      const sum = (weigh: (commit: SpentCommit) => number): number =>
        spent.reduce((total, commit) => total + weigh(commit), 0);
      return {
        jobs: { used: sum(({ jobs }) => jobs), limit: Math.min(limits.jobsPerDay, limits.modificationsPerDay) },
        partitionModifications: {
          used: sum(({ partitionModifications }) => partitionModifications),
          limit: limits.partitionModificationsPerDay,
        },
        nextCommitInMs: await waitMs({ partitions: usualPartitions, pace: 'interval' }),
      };
    },
  };
};

const createLocalMemory = (): BudgetMemory => {
  let spent: readonly SpentCommit[] = [];
  return {
    read: async () => spent,
    write: async (next) => {
      spent = next;
    },
  };
};

/** What is older than a bucket is summed up per bucket, as of its last commit: a day fits in some 150 entries. */
export const compactSpent = (spent: readonly SpentCommit[], now: number): readonly SpentCommit[] => {
  const buckets = new Map<number, SpentCommit>();
  const recent: SpentCommit[] = [];
  for (const commit of spent) {
    if (commit.at > now - bucketMs) {
      recent.push(commit);
      continue;
    }
    const bucket = Math.floor(commit.at / bucketMs);
    const earlier = buckets.get(bucket);
    buckets.set(bucket, {
      at: commit.at,
      jobs: commit.jobs + (earlier?.jobs ?? 0),
      partitionModifications: commit.partitionModifications + (earlier?.partitionModifications ?? 0),
    });
  }
  return [...buckets.values(), ...recent];
};

/** One line for `callsync status`. */
export const describeBudget = ({ jobs, partitionModifications, nextCommitInMs }: BudgetStatus): string => {
  const next = nextCommitInMs === 0 ? 'at once' : `in ${Math.ceil(nextCommitInMs / 1000)} s`;
  return (
    `load jobs ${of(jobs)} and partition modifications ${of(partitionModifications)} in 24 h; ` + `next commit ${next}`
  );
};

const of = ({ used, limit }: { readonly used: number; readonly limit: number }): string =>
  limit === Number.MAX_SAFE_INTEGER ? String(used) : `${used}/${limit}`;
