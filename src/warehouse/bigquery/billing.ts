/**
 * What a commit will bill, estimated: BigQuery bills each statement of a script for what it reads, at least 10 MB for each
 * table that it names. A DELETE reads all columns of the partitions that it may change; everything else that a commit
 * reads stays below the minimum, except what it has staged itself. Loading the staging table is free.
 */

const leastPerTable = 10_000_000;

export interface BilledCommit {
  /** Tables of call rows. */
  readonly tables: number;
  /** Bytes that are staged. */
  readonly stagedBytes: number;
  readonly hasCalls: boolean;
  readonly hasTombstones: boolean;
  /** Whether a call was or will be sent under more than one date. */
  readonly hasMoves: boolean;
  /** Log tables with rows. */
  readonly logs: number;
  /** Bytes that the partitions of calls hold that may have rows already; 0 where every call is new. */
  readonly replacedBytes: number;
}

export const estimateBilledBytes = (commit: BilledCommit): number => {
  const { tables, stagedBytes, hasCalls, hasTombstones, hasMoves, logs, replacedBytes } = commit;
  // Tables that statements name, other than those of calls and what is read of staging: fence, loads, the check of staging.
  let named = 4;
  if (hasCalls) named += 5 + 2 + 1;
  if (hasCalls && replacedBytes > 0) named += 1;
  if (hasTombstones) named += 3 + 3 + 2 + 2 + 2;
  if (hasMoves) named += 2;
  named += 2 * logs;
  const removes = replacedBytes > 0 || hasTombstones;
  const removal = removes ? tables * leastPerTable + Math.max(tables * leastPerTable, replacedBytes) : 0;
  const insertion = hasCalls ? Math.max(tables * leastPerTable, stagedBytes) : 0;
  return named * leastPerTable + removal + insertion;
};

/** How many bytes a warehouse holds under each UTC date, as they were sent; kept where all workers see it. */
export interface DaySizes {
  read(days: readonly string[]): Promise<ReadonlyMap<string, number>>;
  add(bytes: ReadonlyMap<string, number>): Promise<void>;
}

export const createLocalDaySizes = (): DaySizes => {
  const sizes = new Map<string, number>();
  return {
    read: async (days) => new Map(days.flatMap((day) => (sizes.has(day) ? [[day, sizes.get(day) ?? 0] as const] : []))),
    add: async (bytes) => {
      for (const [day, more] of bytes) sizes.set(day, (sizes.get(day) ?? 0) + more);
    },
  };
};
