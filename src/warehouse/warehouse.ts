/** The core of every warehouse, and its capabilities. One conformance suite runs over all cores, and over the capabilities of each. */
import { hash } from 'node:crypto';
import type { CallTableName, LogTableName, Row, TableName } from '../../schemas/tables.ts';
import type { ErrorCode } from '../lib/error-codes.ts';
import { terminal } from '../lib/errors.ts';
import type { Grants, Readers } from './grants.ts';
import type { RestoreChecks } from './restore.ts';
import type { TranscriptSearch } from './search.ts';

export type FlatRows = Readonly<Record<CallTableName, readonly Row[]>>;

/** A call as the warehouse is to hold it. */
export interface CallLoad {
  readonly callId: string;
  readonly revision: number;
  /** Microseconds since the epoch; decides the partition. */
  readonly callTimestamp: number | null;
  /** Makes the rows of the call's tables; a warehouse calls it once, when it writes them, so that memory holds one call's rows. */
  flatten(): FlatRows;
  /** Rows of table `changes`; the warehouse omits rows that it already has. */
  readonly changes: readonly Row[];
  /** Every UTC date (`YYYY-MM-DD`, null = no timestamp) under which the call was sent to this warehouse before. */
  readonly partitions: readonly (string | null)[];
}

/** An erased call: its rows go, its guard stays behind under a keyed hash of its id. */
export type TombstoneLoad = Pick<CallLoad, 'callId' | 'revision' | 'partitions'> & { readonly callKey: string };

export interface LoadBatch {
  readonly loadId: string;
  readonly epoch: number;
  readonly flattenVersion: number;
  readonly origin: string;
  /** At most one entry per call; sorted by call id by the loader. */
  readonly calls: readonly CallLoad[];
  readonly tombstones: readonly TombstoneLoad[];
  /** Rows of log tables to upsert by key. */
  readonly logs: Partial<Readonly<Record<Exclude<LogTableName, 'loads'>, readonly Row[]>>>;
  /** Also rewrite calls whose guard is equal (rebuild, heal): rows of an equal guard have equal content. */
  readonly force?: boolean;
  /** Child rows of a call that table calls lacks fail the load, which need not look for them: only a deletion by hand leaves some. */
  readonly failsAtOrphans?: boolean | undefined;
  /** The load before it, which a warehouse that can be asked cheaply must have. @throws CallsyncError WAREHOUSE_RESTORED from `load` */
  readonly follows?: string | undefined;
  /** keyed hash of a call id, for the check against tombstones. */
  readonly keyOf: (callId: string) => string;
}

/** Milliseconds. */
export type LogRetention = Readonly<Record<LogTableName, number>>;

export interface LoadResult {
  /** Calls whose guard was higher and whose rows were written (or removed, for tombstones). */
  readonly changed: number;
  /** The sent calls that stayed as they were, because the warehouse has the same guard or a higher one. */
  readonly unchanged: number;
  /** Microseconds; absent where the load returns as soon as it is committed. */
  readonly committedAt?: number;
}

/** When a revision of a call came, in microseconds. */
export type ChangeTime = { readonly callId: string; readonly revision: number; readonly loadedAt: number };

/** Loads and proves. Each warehouse can do this, whatever else it has. */
export interface Warehouse extends Partial<Capabilities> {
  readonly name: string;
  readonly traits: Traits;
  /** Creates or extends schema, tables, views, descriptions. Idempotent; additive only. */
  migrate(): Promise<void>;
  /**
   * Commits one load, atomically over all tables. A load may run twice, late, concurrently or after a crash. A call
   * changes only for a higher (epoch, revision, flatten version), and never past a tombstone.
   */
  load(batch: LoadBatch): Promise<LoadResult>;
  /**
   * Keeps the one row of `sync_state` by one small statement outside any load.
   * A row of a later heartbeat stays. Idempotent.
   */
  recordState(row: Row): Promise<void>;
  /**
   * Runs one read-only query in the warehouse's own dialect; `calls` schema or dataset is the default. A column with the
   * name of an earlier one is numbered (`count_2`); a whole number that a double cannot hold is text.
   * @param signal ends the query where it runs; the promise is rejected then
   */
  query(sql: string, signal?: AbortSignal): Promise<Record<string, unknown>[]>;
  /** The stored rows of calls, for reconcile. */
  readonly proof: Proof;
  close(): Promise<void>;
}

/** Optional parts of a warehouse. Without a part, callers go on, or refuse by `requireFrom`. */
export interface Capabilities {
  /** Full-text search; its index is made on demand. */
  readonly search: TranscriptSearch;
  /** Rights of readers. */
  readonly grants: Grants;
  readonly marts: Marts;
  /** Opens connections for queries that persons and assistants wrote. */
  readonly openReader: (rights: ReaderRights) => Reader;
  /** Deletes rows of log tables that are older than their time, on the first call of a UTC day; the newest loads stay. */
  readonly expireLogs: (retention: LogRetention) => Promise<void>;
  /** Notices that ledger or warehouse were set back. */
  readonly restore: RestoreChecks;
  /** Only where commits have an interval. */
  readonly pace: Pace;
}

/** For people; the others go by their names. */
const titles: Partial<Record<keyof Capabilities, string>> = {
  search: 'full-text search',
  openReader: 'connections for queries',
};

/** @throws CallsyncError USAGE_WAREHOUSE where the warehouse cannot do this */
export const requireFrom = <C extends keyof Capabilities>(warehouse: Warehouse, name: C): Capabilities[C] => {
  const found: Partial<Capabilities>[C] = (warehouse as Partial<Capabilities>)[name];
  if (found !== undefined) return found;
  throw terminal(
    'USAGE_WAREHOUSE',
    `Warehouse ${warehouse.name} (${warehouse.traits.kind}) has no ${titles[name] ?? name}.`,
    {
      hint: 'Name another warehouse.',
    },
  );
};

interface Traits {
  /** `type` of its settings. */
  readonly kind: string;
  /** Days for which the platform keeps deleted rows; null if its operator decides. */
  readonly keepsDeleted: { readonly days: number | null; readonly why: string };
  /** True where a commit is cheap, so that every page read is loaded at once; false where commits are paced. */
  readonly immediate: boolean;
  /** Most calls that one load should hold. */
  readonly maxCallsPerLoad: number;
  /** Least milliseconds between two calls of `recordState`: where a statement has a price, they are rare. */
  readonly heartbeatMs: number;
  /**
   * The partition of a call: its UTC date (`YYYY-MM-DD`), or null without a timestamp. Undefined if the warehouse has
   * no partitions. `callTimestamp` is in microseconds since the epoch.
   */
  partitionOf(callTimestamp: number | null): string | null | undefined;
  /** Codes of errors for a missing table, and for rows of which the warehouse would take some. */
  readonly faults: Readonly<Record<'tableMissing' | 'rowsRefused', readonly ErrorCode[]>>;
}

/** Questions about the stored rows of calls, and the removal of those that the ledger does not know. */
export interface Proof {
  /** Every row of one relation with its `digestedColumns`, values as flatten makes them; in no order. */
  rowsOf(name: DigestedName): AsyncIterable<Row>;
  /** The guard and light content of calls in a range of call time, for reconcile. Streams in key order. */
  listGuards(range: GuardRange): AsyncIterable<CallGuard>;
  /**
   * Removes all rows of calls where the guard is still the given one. Leaves no tombstone: the call may be sent later.
   * Idempotent.
   * @param options.keepsChanges the rows of `changes` stay: the call is written again, and the ledger has only its last
   * changes
   */
  removeCalls(guards: readonly CallGuard[], options?: { readonly keepsChanges: boolean }): Promise<void>;
  /** Removes child rows of these ids whose call has no row of the same time in `calls`. Idempotent. */
  removeOrphans(callIds: readonly string[]): Promise<void>;
  /** The digests that `digestCalls` gives for rows that are as flatten made them. Pure. */
  digestOf(callId: string, rows: FlatRows): CallDigest;
  /**
   * Digests of the stored rows of calls, equal to `digestOf` of the rows from flatten. Reads the rows. Calls without rows are left out.
   * In the order of ids.
   * @param dates UTC dates (null = no timestamp) under which rows may be: BigQuery reads, and bills, only these.
   * Without them it reads all.
   */
  digestCalls(callIds: readonly string[], dates?: Iterable<string | null>): AsyncIterable<CallDigest>;
  /**
   * Rows that any table still has of calls, whether or not `calls` has them; no id gets into a log of statements.
   * @param dates as for `digestCalls`
   */
  rowsLeft(callIds: readonly string[], dates?: Iterable<string | null>): Promise<number>;
  /** Rows of these calls in table `changes`, unordered. */
  listChangeTimes(callIds: readonly string[]): AsyncIterable<ChangeTime>;
  /** Ids of the calls in a range of call time, of those without a timestamp, or of all; in key order. */
  listCallIds(range: IdRange): AsyncIterable<string>;
  /**
   * Ids of child rows whose call has no row of the same time in `calls`; in key order. Reads ids and times of a part of every table. All
   * parts together are the whole; BigQuery, which would read and bill all of a table for any part, says all in the first.
   * @param part by default the whole
   */
  listOrphans(part?: TablePart): AsyncIterable<string>;
}

interface Marts {
  /**
   * Creates views in a schema or dataset of their own, in this order, and replaces those whose version differs. Returns
   * the names of created and replaced views. Idempotent. In PostgreSQL a view that loses columns is made anew, with the
   * rights that others have on it.
   */
  ensure(schema: string, views: readonly View[]): Promise<readonly string[]>;
}

interface Pace {
  /**
   * Milliseconds until the next commit is due (`interval`), until any may start, or until changes to existing calls
   * may start.
   */
  nextCommitInMs(pace: 'interval' | 'any' | 'changes'): Promise<number>;
  /** Usage of the quota. @throws CallsyncError DATABASE_… */
  readUsage(): Promise<WarehouseUsage>;
}

export interface ReaderRights {
  /** Schema or dataset of the marts. */
  readonly marts: string;
  /** Group whose rights the reader has; by default, tables and marts. */
  readonly restricted?: Readers | undefined;
  /** Longest time of a query, in milliseconds. */
  readonly queryMs?: number | undefined;
}

/** Queries under rights that read and do nothing else. On BigQuery they are those of the service account. */
export interface Reader {
  /** As `query` of the warehouse. @throws CallsyncError QUERY_… */
  ask(sql: string, signal?: AbortSignal): Promise<Record<string, unknown>[]>;
  /** The first rows of a SELECT, each as JSON text; `complete` is false where a limit left rows out. @throws CallsyncError QUERY_… */
  answer(sql: string, limits: AnswerLimits, signal?: AbortSignal): Promise<FirstRows>;
  close(): Promise<void>;
}

export interface AnswerLimits {
  readonly rows: number;
  /** Most bytes of all rows as JSON. */
  readonly bytes: number;
  /** Most bytes that a query may bill, if queries have a price. */
  readonly billedBytes: number;
}

export type FirstRows = { readonly rows: readonly string[]; readonly complete: boolean };

/** Usage of a warehouse with quotas. */
export interface WarehouseUsage {
  /** Load jobs of the last 24 hours, and their limit; infinite without a limit. */
  readonly jobs: { readonly used: number; readonly limit: number };
  /** Bytes that the warehouse billed for this process since its start. */
  readonly billedBytes: number;
  /** Milliseconds until a commit of continuous sync may start. */
  readonly nextCommitInMs: number;
}

export interface View {
  readonly name: string;
  readonly description: string;
  readonly columns: readonly { readonly name: string; readonly description: string }[];
  /** The query, in the warehouse's own dialect, with qualified names. */
  readonly sql: string;
}

/** The description of a stored view. Any reader of metadata sees it, and its end changes whenever anything of the view does. */
export const describeView = ({ description, columns, sql }: View): string => {
  const shown = columns.map((column) => ({ name: column.name, description: column.description }));
  return `${description} [callsync ${hash('sha256', JSON.stringify([description, shown, sql])).slice(0, 16)}]`;
};

export type Statement = { readonly name: string; readonly sql: string };

/** Relations that have a digest; `words` is the relation of one row per word. */
export type DigestedName = Exclude<TableName, 'changes' | 'loads' | 'sync_state'> | 'words';

/** Calls by their own time, `[from, to)` in microseconds since the epoch, or by id. */
export type GuardRange = { readonly from: number; readonly to: number } | { readonly callIds: readonly string[] };

/** One of so many parts of a table, counted from 0. */
export type TablePart = { readonly part: number; readonly of: number };

/** Calls by their own time, those without one, or all; warehouses differ in the last time that they can name. */
export type IdRange = { readonly from: number; readonly to: number } | 'undated' | 'all';

/** A digest for each table of call rows, `documents` where the warehouse keeps it; equal for equal rows, in every warehouse. */
export type CallDigest = { readonly callId: string; readonly tables: Readonly<Record<string, string>> };

export interface CallGuard {
  readonly callId: string;
  readonly callTimestamp: number | null;
  readonly epoch: number;
  readonly revision: number;
  readonly flattenVersion: number;
  /** `contentHash` of the rows as they were written; null where an earlier version of callsync wrote them. */
  readonly contentHash: string | null;
  /** Rows per child table actually present, to find hidden deletions. */
  readonly childRows: Readonly<Record<string, number>>;
}

/** Lets one holder at a time act on a name: BigQuery has one commit in flight per warehouse. */
export type Lease = { run<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> };
