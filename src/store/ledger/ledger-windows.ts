/** The ledger by window: which calls are in it, and the rows that a warehouse should have of them. Times in microseconds. */

import type { LedgerRow } from '../../calls/fold.ts';
import type { Queryable } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { readRows } from './ledger.ts';

/** The ledger's column of an axis: the call's own time or its end of processing. */
export type LedgerAxis = 'call_timestamp' | 'processed_at';

/** Inflated size of a document is about five times its deflated one; this where the ledger knows none of the calls. */
const assumedBytes = 32 * 1024;

/** Estimated JSON bytes of a whole record of some calls, from up to 200 of those that the ledger has. */
export const meanDocumentBytes = async (db: Queryable, callIds: readonly string[]): Promise<number> => {
  const [row] = await db.query<{ bytes: number | null }>(
    `SELECT avg(octet_length(body))::float8 * 5 AS bytes
       FROM (SELECT body FROM ledger_documents WHERE call_id = ANY($1) LIMIT 200) d`,
    [callIds.slice(0, 1_000)],
  );
  return row?.bytes ?? assumedBytes;
};

export interface WindowCall {
  readonly callId: string;
  readonly missingSince: number | null;
}

/** Calls of the ledger in a window, tombstones left out. */
export const listWindowCalls = async (
  db: Queryable,
  column: LedgerAxis,
  range: { readonly from: number; readonly to: number },
): Promise<WindowCall[]> =>
  await db.query<WindowCall>(
    `SELECT call_id AS "callId", ${toMicros('missing_since')} AS "missingSince" FROM ledger
      WHERE ${column} >= ${toTimestamp('$1')} AND ${column} < ${toTimestamp('$2')} AND revision > 0 AND NOT tombstone`,
    [range.from, range.to],
  );

/** Those of some calls that were erased, or that are too old to be kept. */
export const findTombstones = async (db: Queryable, callIds: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await db.query<{ id: string }>(
    'SELECT call_id AS id FROM ledger WHERE call_id = ANY($1) AND tombstone',
    [callIds],
  );
  return new Set(rows.map(({ id }) => id));
};

/** Of some calls, how many are stored, and how many are tombstones; the ledger knows no other. */
export const countStates = async (
  db: Queryable,
  callIds: readonly string[],
): Promise<{ readonly stored: number; readonly tombstones: number }> => {
  const [row] = await db.query<{ stored: number; tombstones: number }>(
    `SELECT count(*) FILTER (WHERE revision > 0 AND NOT tombstone)::int AS stored,
            count(*) FILTER (WHERE tombstone)::int AS tombstones
       FROM ledger WHERE call_id = ANY($1)`,
    [callIds],
  );
  return row ?? { stored: 0, tombstones: 0 };
};

/** When calls of a UTC day were last loaded, of the loads of the last three days; by the start of the day, in microseconds. */
export const lastLoads = async (
  db: Queryable,
  column: LedgerAxis,
  warehouses: readonly string[],
): Promise<ReadonlyMap<number, number>> => {
  const rows = await db.query<{ day: number; at: number }>(
    `SELECT ${toMicros(`date_trunc('day', l.${column}, 'UTC')`)} AS day, ${toMicros('max(w.applied_at)')} AS at
       FROM warehouse_calls w JOIN ledger l USING (call_id)
      WHERE w.warehouse = ANY($1) AND w.applied_at > now() - interval '3 days' AND l.${column} IS NOT NULL GROUP BY 1`,
    [warehouses],
  );
  return new Map(rows.map(({ day, at }) => [day, at]));
};

/** Times of calls, in microseconds; calls without one are left out. */
export const readCallTimes = async (
  db: Queryable,
  column: LedgerAxis,
  callIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await db.query<{ id: string; time: number }>(
    `SELECT call_id AS id, ${toMicros(column)} AS time FROM ledger
      WHERE call_id = ANY($1) AND ${column} IS NOT NULL`,
    [callIds],
  );
  return new Map(rows.map(({ id, time }) => [id, time]));
};

/** SHA-256 (hex) over the ids and revisions of the calls of a window. */
export const revisionsDigest = async (
  db: Queryable,
  column: LedgerAxis,
  range: { readonly from: number; readonly to: number },
): Promise<string> => {
  const [row] = await db.query<{ digest: string }>(
    `SELECT encode(sha256(convert_to(coalesce(string_agg(call_id || ':' || revision, E'\\n' ORDER BY call_id), ''), 'UTF8')), 'hex') AS digest
       FROM ledger WHERE ${column} >= ${toTimestamp('$1')} AND ${column} < ${toTimestamp('$2')} AND revision > 0 AND NOT tombstone`,
    [range.from, range.to],
  );
  return row?.digest ?? '';
};

/** What a warehouse is known to have, and whether something newer waits to be loaded. */
export interface AppliedGuard {
  readonly pending: boolean;
  readonly epoch: number;
  readonly revision: number;
  readonly flattenVersion: number;
}

export interface ExpectedCall {
  readonly row: LedgerRow;
  /** Undefined when the warehouse was never to have the call. */
  readonly applied: AppliedGuard | undefined;
}

/** Deflated bytes of the documents that are held at once. */
const batchBytes = 4 * 1024 * 1024;
const batchCalls = 500;

/** The given calls with their documents and what a warehouse has of them, batch by batch. */
export async function* readExpected(
  db: Queryable,
  warehouse: string,
  callIds: readonly string[],
): AsyncGenerator<readonly ExpectedCall[]> {
  const heads = await db.query<AppliedGuard & { callId: string; sent: boolean; bytes: number }>(
    `SELECT call_id AS "callId", coalesce(octet_length(d.body), 0) AS bytes, w.call_id IS NOT NULL AS sent, w.pending,
            w.applied_epoch AS epoch, w.applied_revision AS revision, w.applied_flatten AS "flattenVersion"
       FROM ledger l LEFT JOIN ledger_documents d USING (call_id)
       LEFT JOIN (SELECT * FROM warehouse_calls WHERE warehouse = $2) w USING (call_id)
      WHERE call_id = ANY($1) AND l.revision > 0 ORDER BY call_id`,
    [callIds, warehouse],
  );
  for (let start = 0; start < heads.length; ) {
    let end = start;
    for (let bytes = 0; end < heads.length && end - start < batchCalls; end += 1) {
      bytes += heads[end]?.bytes ?? 0;
      if (bytes > batchBytes && end > start) break;
    }
    const batch = heads.slice(start, end);
    const rows = await readRows(
      db,
      batch.map(({ callId }) => callId),
    );
    yield batch.flatMap(({ callId, sent, pending, epoch, revision, flattenVersion }) => {
      const row = rows.get(callId);
      const applied = sent ? { pending, epoch, revision, flattenVersion } : undefined;
      return row === undefined ? [] : [{ row, applied }];
    });
    start = end;
  }
}
