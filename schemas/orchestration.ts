/** Shapes that workflows and activities exchange: small references and counts, never call data. */

/** Half-open, in microseconds since the epoch. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export type Direction = 'newest_first' | 'oldest_first';

export interface ReadTotals {
  readonly windows: number;
  readonly calls: number;
  readonly changed: number;
  readonly requests: number;
  readonly problems: number;
  /** So much of the range was read before and shown complete, and was passed over; results of older workers lack it. */
  readonly skippedSeconds?: number;
}

export const emptyTotals: ReadTotals = { windows: 0, calls: 0, changed: 0, requests: 0, problems: 0 };
/** Sums two totals field by field. */
export const addTotals = (a: ReadTotals, b: ReadTotals): ReadTotals => ({
  windows: a.windows + b.windows,
  calls: a.calls + b.calls,
  changed: a.changed + b.changed,
  requests: a.requests + b.requests,
  problems: a.problems + b.problems,
  skippedSeconds: (a.skippedSeconds ?? 0) + (b.skippedSeconds ?? 0),
});

/** What is compared with the service: ids alone, the fields that a summary listing carries, or whole records. */
export type SourceLevel = 'ids' | 'fields' | 'records';

/** What is compared in a warehouse: the guard and content hash beside each call, or digests of the rows themselves. */
export type WarehouseLevel = 'guards' | 'rows';

export interface ReconcileRequest {
  /** Without it: the windows without a good verdict, as the schedule takes them. */
  readonly range?: Range;
  /** Also windows that have a good verdict. */
  readonly force?: boolean;
  readonly level?: SourceLevel;
  readonly warehouseLevel?: WarehouseLevel;
  readonly acceptEmpty?: boolean;
}

/** A window to reconcile, and how thoroughly the warehouses are compared in it. */
interface ReconcileTarget extends Range {
  readonly warehouseLevel: WarehouseLevel;
}

export interface ReconcilePlan {
  readonly axis: string;
  /** The ledger's column of that axis. */
  readonly column: 'call_timestamp' | 'processed_at';
  readonly level: SourceLevel;
  readonly acceptEmpty: boolean;
  /** In the order in which they are reconciled. */
  readonly windows: readonly ReconcileTarget[];
}

export interface ReconcileTotals {
  readonly windows: number;
  readonly proven: number;
  readonly healed: number;
  readonly unproven: number;
  readonly suspicious: number;
  /** Over all warehouses: calls that were missing or different before, and how many of them were healed. */
  readonly missing: number;
  readonly different: number;
  readonly healedCalls: number;
  readonly markedMissing: number;
  readonly requests: number;
  readonly unreachable: number;
  /** Surplus rows that were removed from warehouses, counted in calls. */
  readonly removed: number;
  /** Windows that an error kept from being judged; they come again with the next run. */
  readonly failed: number;
}

export const emptyReconcileTotals: ReconcileTotals = {
  windows: 0,
  proven: 0,
  healed: 0,
  unproven: 0,
  suspicious: 0,
  missing: 0,
  different: 0,
  healedCalls: 0,
  markedMissing: 0,
  requests: 0,
  unreachable: 0,
  removed: 0,
  failed: 0,
};

/** What a run of re-reads came to. */
export interface RereadTotals {
  readonly listed: number;
  readonly changed: number;
  readonly fetched: number;
  readonly requests: number;
}

/** Sums two totals field by field. */
export const addReconcileTotals = (a: ReconcileTotals, b: ReconcileTotals): ReconcileTotals => ({
  windows: a.windows + b.windows,
  proven: a.proven + b.proven,
  healed: a.healed + b.healed,
  unproven: a.unproven + b.unproven,
  suspicious: a.suspicious + b.suspicious,
  missing: a.missing + b.missing,
  different: a.different + b.different,
  healedCalls: a.healedCalls + b.healedCalls,
  markedMissing: a.markedMissing + b.markedMissing,
  requests: a.requests + b.requests,
  unreachable: a.unreachable + b.unreachable,
  removed: a.removed + b.removed,
  failed: a.failed + b.failed,
});

/** How often rereads are planned so that nothing waits longer than a delay; in microseconds. */
export const planningInterval = (delay: number): number => Math.min(3_600_000_000, Math.max(60_000_000, delay / 12));
