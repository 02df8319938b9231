/** Shapes that workflows and activities exchange: small references and counts, never call data. */

/** Half-open, in microseconds since the epoch. */
export type Range = { readonly from: number; readonly to: number };

export type Direction = 'newest_first' | 'oldest_first';

export type ReadTotals = Readonly<Record<'windows' | 'calls' | 'changed' | 'requests' | 'problems', number>> & {
  /** Seconds of the range that the run skipped, because an earlier run had read them completely; absent in results of older workers. */
  readonly skippedSeconds?: number;
};

export const emptyTotals: ReadTotals = { windows: 0, calls: 0, changed: 0, requests: 0, problems: 0 };
/** Sums field by field. A missing field counts as 0. */
export const addTotals = <T extends object>(a: T, b: T): T => {
  const of = (totals: T): Readonly<Record<string, number>> => totals as Readonly<Record<string, number>>;
  const names = Object.keys({ ...a, ...b });
  return Object.fromEntries(names.map((name) => [name, (of(a)[name] ?? 0) + (of(b)[name] ?? 0)])) as T;
};

/** Comparison with the service: ids alone, the fields of a summary listing, or whole records. */
export type SourceLevel = 'ids' | 'fields' | 'records';

/** Comparison in a warehouse: guard and content hash of each call, or digests of the rows. */
export type WarehouseLevel = 'guards' | 'rows';

export interface ReconcileRequest {
  /** Without it: the windows without a good verdict, as the schedule takes them. */
  readonly range?: Range;
  /** Also windows that have a good verdict. */
  readonly force?: boolean;
  readonly level?: SourceLevel;
  readonly warehouseLevel?: WarehouseLevel;
  readonly acceptEmpty?: boolean;
  /** Only the windows whose proof was withdrawn. */
  readonly withdrawn?: boolean;
}

/** A window to reconcile, and how thoroughly the warehouses are compared in it. */
export interface ReconcileTarget extends Range {
  readonly warehouseLevel: WarehouseLevel;
}

export interface ReconcilePlan {
  readonly axis: string;
  /** The ledger's column of that axis. */
  readonly column: 'call_timestamp' | 'processed_at';
  readonly level: SourceLevel;
  readonly acceptEmpty: boolean;
  /** Loads what waits before and after, so that readers of the warehouses see the proof at once. */
  readonly loads?: boolean;
  /** In the order in which they are reconciled. */
  readonly windows: readonly ReconcileTarget[];
}

export const emptyReconcileTotals = {
  windows: 0,
  proven: 0,
  healed: 0,
  unproven: 0,
  suspicious: 0,
  /** Over all warehouses: calls that were missing or different before, and how many of them were healed. */
  missing: 0,
  different: 0,
  healedCalls: 0,
  markedMissing: 0,
  requests: 0,
  unreachable: 0,
  /** Unexpected rows that were removed from warehouses, counted in calls. */
  removed: 0,
  /** Windows that an error left unjudged; the next run judges them. */
  failed: 0,
};
export type ReconcileTotals = Readonly<typeof emptyReconcileTotals>;

/** Result of a run of re-reads. */
export type RereadTotals = Readonly<Record<'listed' | 'changed' | 'fetched' | 'requests', number>>;

/** How often rereads are planned so that nothing waits longer than a delay; in microseconds. */
export const planningInterval = (delay: number): number => Math.min(3_600_000_000, Math.max(60_000_000, delay / 12));
