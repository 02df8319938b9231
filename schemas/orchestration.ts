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
}

export const emptyTotals: ReadTotals = { windows: 0, calls: 0, changed: 0, requests: 0, problems: 0 };
export const addTotals = (a: ReadTotals, b: ReadTotals): ReadTotals => ({
  windows: a.windows + b.windows,
  calls: a.calls + b.calls,
  changed: a.changed + b.changed,
  requests: a.requests + b.requests,
  problems: a.problems + b.problems,
});

/** What is compared: ids alone, the fields that a summary listing carries, or whole records. */
export type ReconcileLevel = 'ids' | 'light' | 'full';

export interface ReconcileRequest {
  /** Without it: the windows without a good verdict between `age` and `age + span` ago. */
  readonly range?: Range;
  /** Also windows that have a good verdict. */
  readonly force?: boolean;
  readonly level?: ReconcileLevel;
  readonly acceptEmpty?: boolean;
}

export interface ReconcilePlan {
  readonly axis: string;
  /** The ledger's column of that axis. */
  readonly column: 'call_timestamp' | 'processed_at';
  readonly level: ReconcileLevel;
  readonly acceptEmpty: boolean;
  /** Newest first. */
  readonly windows: readonly Range[];
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
};

/** What a run of re-reads came to. */
export interface RereadTotals {
  readonly listed: number;
  readonly changed: number;
  readonly fetched: number;
  readonly requests: number;
}

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
});
