/** The ledger by window: which calls are in it, and the rows that a warehouse should have of them. Times in microseconds. */

import type { LedgerRow } from '../../calls/fold.ts';
import { readPages } from '../../lib/pages.ts';
import { type Queryable, raw, type Sql, sql, toMicros, toTimestamp } from '../../postgres/database.ts';
import { documentLost, readDocuments, readRows } from './ledger.ts';

/** The ledger's column of an axis: the call's own time or its end of processing. */
export type LedgerAxis = 'call_timestamp' | 'processed_at';

const isAlive = sql`NOT tombstone AND revision > 0`;
const inWindow = (column: LedgerAxis, { from, to }: { from: number; to: number }): Sql =>
  sql`${raw(column)} >= ${toTimestamp(from)} AND ${raw(column)} < ${toTimestamp(to)} AND ${isAlive}`;

type WindowCall = { readonly callId: string; readonly sourceDeletedAt: number | null };

/** Calls of the ledger in a window, tombstones left out. */
export const listWindowCalls = async (db: Queryable, column: LedgerAxis, range: { from: number; to: number }) =>
  await db.query<WindowCall>`SELECT call_id AS "callId", ${toMicros('source_deleted_at')} AS "sourceDeletedAt" FROM ledger
      WHERE ${inWindow(column, range)}`;

/** Calls that were erased, or that have expired. */
export const findTombstones = async (db: Queryable, callIds: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(await db.column<string>`SELECT call_id AS id FROM ledger WHERE call_id = ANY(${callIds}) AND tombstone`);

/** Numbers of stored calls and of tombstones among the given calls. */
export const countStates = (db: Queryable, callIds: readonly string[]) =>
  db.row<{ stored: number; tombstones: number }>`
      SELECT count(*) FILTER (WHERE revision > 0 AND NOT tombstone)::int AS stored,
            count(*) FILTER (WHERE tombstone)::int AS tombstones
       FROM ledger WHERE call_id = ANY(${callIds})`;

/** When calls of a UTC day were last loaded, of the loads of the last three days; by the start of the day, in microseconds. */
export const lastLoads = async (db: Queryable, column: LedgerAxis, warehouses: readonly string[]) => {
  const rows = await db.query<{ day: number; at: number }>`
      SELECT ${toMicros(`date_trunc('day', l.${column}, 'UTC')`)} AS day, ${toMicros('max(w.applied_at)')} AS at
       FROM warehouse_calls w JOIN ledger l USING (call_id)
      WHERE w.warehouse = ANY(${warehouses}) AND w.applied_at > now() - interval '3 days' AND l.${raw(column)} IS NOT NULL
      GROUP BY 1`;
  return new Map(rows.map(({ day, at }) => [day, at]));
};

/** Time of the first call on any axis, in microseconds; null while there is none. */
export const firstCallInstant = (db: Queryable): Promise<number | null> =>
  db.value`SELECT ${toMicros('least(min(call_timestamp), min(processed_at))')} FROM ledger`;

/** Times of calls, in microseconds; calls without one are left out. */
export const readCallTimes = async (db: Queryable, column: LedgerAxis, callIds: readonly string[]) => {
  const rows = await db.query<{ id: string; time: number }>`
      SELECT call_id AS id, ${toMicros(column)} AS time FROM ledger
      WHERE call_id = ANY(${callIds}) AND ${raw(column)} IS NOT NULL`;
  return new Map(rows.map(({ id, time }) => [id, time]));
};

/** SHA-256 (hex) over the ids and revisions of the calls of a window. */
export const revisionsDigest = (db: Queryable, column: LedgerAxis, range: { from: number; to: number }) =>
  db.value<string>`SELECT encode(sha256(convert_to(coalesce(
       string_agg(call_id || ':' || revision, E'\\n' ORDER BY call_id), ''), 'UTF8')), 'hex') FROM ledger WHERE ${inWindow(column, range)}`;

/** Guard that a warehouse is known to have, and whether a newer one is pending. */
type AppliedGuard = Readonly<Record<'epoch' | 'revision' | 'flattenVersion', number>> & { readonly pending: boolean };

/** `applied` = undefined when the warehouse was never to have the call. */
export type ExpectedCall = { readonly row: LedgerRow; readonly applied: AppliedGuard | undefined };

/** Packed bytes of documents that one batch may hold: about 50 MB of JSON. */
const batchBytes = 8 * 1024 * 1024;

/** The first calls whose documents fit into a batch together; always one. */
export const withinBytes = async (db: Queryable, ids: readonly string[]): Promise<readonly string[]> => {
  const sizes = await db.query<{ id: string; bytes: number }>`
      SELECT call_id AS id, octet_length(body) AS bytes FROM ledger_documents WHERE call_id = ANY(${ids})`;
  const bytesOf = new Map(sizes.map(({ id, bytes }) => [id, bytes]));
  let sum = 0;
  const end = ids.findIndex((id, index) => {
    sum += bytesOf.get(id) ?? 0;
    return index > 0 && sum > batchBytes;
  });
  return end === -1 ? ids : ids.slice(0, end);
};

/** Most documents in memory at once. */
const expectedAtOnce = 200;

/** The given calls with their documents and their revision in a warehouse, batch by batch. */
export async function* readExpected(db: Queryable, warehouse: string, callIds: readonly string[]) {
  for (let at = 0; at < callIds.length; ) {
    const part = await withinBytes(db, callIds.slice(at, at + expectedAtOnce));
    at += part.length;
    const sent = await db.query<AppliedGuard & { callId: string }>`
        SELECT call_id AS "callId", pending, applied_epoch AS epoch, applied_revision AS revision, applied_flatten AS "flattenVersion"
          FROM warehouse_calls WHERE warehouse = ${warehouse} AND call_id = ANY(${part})`;
    const applied = new Map(sent.map(({ callId, ...guard }) => [callId, guard]));
    const rows = await readRows(db, part);
    yield [...rows.values()].map((row): ExpectedCall => ({ row, applied: applied.get(row.callId) }));
  }
}

/**
 * Ids of calls by their own time, page by page, oldest first; tombstones and calls without a time left out. Times in
 * microseconds since the epoch; from -Infinity on = from the first.
 */
export async function* listCallsBetween(db: Queryable, range: { from: number; to: number; limit: number }) {
  const pages = readPages<{ id: string; at: number }>(range.limit, (last) => {
    const from = toTimestamp(last?.at ?? range.from);
    return db.query`SELECT call_id AS id, ${toMicros('call_timestamp')} AS at FROM ledger
        WHERE call_timestamp >= ${from} AND (call_timestamp, call_id) > (${from}, ${last?.id ?? ''})
          AND call_timestamp < ${toTimestamp(range.to)} AND ${isAlive}
        ORDER BY call_timestamp, call_id LIMIT ${range.limit}`;
  });
  for await (const page of pages) yield page.map(({ id }) => id);
}

const callsPerPage = 100;

/**
 * Each call as it is when its page is read, erased ones left out. `[from, to)` in microseconds since the epoch; calls
 * without a time are in no range.
 */
export const readLedgerRange = (db: Queryable, range: { readonly from: number; readonly to: number }) =>
  readCalls(db, listCallsBetween(db, { ...range, limit: callsPerPage }));

const isUndated = sql`call_timestamp IS NULL AND ${isAlive}`;

/** Number of calls without a time. */
export const countUndated = (db: Queryable): Promise<number> =>
  db.value`SELECT count(*)::int AS calls FROM ledger WHERE ${isUndated}`;

/** As `readLedgerRange`, the calls without a time. */
export const readUndated = (db: Queryable) => readCalls(db, listIds(db, isUndated, callsPerPage));

const readCalls = async function* (db: Queryable, pages: AsyncIterable<readonly string[]>) {
  for await (const ids of pages) {
    const rows = await readRows(db, ids);
    for (const id of ids) {
      const row = rows.get(id);
      if (row?.document === null) throw documentLost(id);
      if (row !== undefined && !row.tombstone) yield row;
    }
  }
};

/** The newest calls that have a time, with their documents, newest first; none that were erased or lost. */
export const readNewestCalls = async (db: Queryable, limit: number) => {
  const ids = await db.column<string>`SELECT call_id FROM ledger WHERE call_timestamp IS NOT NULL AND NOT tombstone
      ORDER BY call_timestamp DESC LIMIT ${limit}`;
  const read = await readDocuments(db, sql`call_id = ANY(${ids}) ORDER BY array_position(${ids}::text[], call_id)`);
  return read.flatMap(({ callId, document }) => (document === undefined ? [] : { callId, document }));
};

/** Ids in key order, page by page. @param where condition on the ledger */
const listIds = (db: Queryable, where: Sql, limit: number): AsyncGenerator<readonly string[]> =>
  readPages(limit, (last) => {
    const after = sql`call_id > ${last ?? ''} AND ${where}`;
    return db.column`SELECT call_id FROM ledger WHERE ${after} ORDER BY call_id LIMIT ${limit}`;
  });

const idsPerPage = 2_000;

/** Ids of all calls that are no tombstones, in key order. */
export async function* listCallIds(db: Queryable): AsyncGenerator<string> {
  for await (const page of listIds(db, sql`NOT tombstone`, idsPerPage)) yield* page;
}

/** SQL: a column has another version, or none. In three ranges, so that its index finds the rows. */
export const isOther = (column: string, version: string | number): Sql => {
  const found = raw(column);
  return sql`(${found} < ${version} OR ${found} > ${version} OR ${found} IS NULL)`;
};

/** Calls of the ledger whose documents are under other rules than these, or under none. */
export const countUnderOthers = (db: Queryable, version: string): Promise<number> =>
  db.value`SELECT count(*)::int AS calls FROM ledger WHERE ${isOther('privacy_version', version)} AND ${isAlive}`;

/** Ids of calls under other rules in key order, `limit` at a time, without calls that came under the rules meanwhile. */
export const listUnderOthers = (db: Queryable, version: string, limit: number) =>
  listIds(db, sql`${isOther('privacy_version', version)} AND ${isAlive}`, limit);
