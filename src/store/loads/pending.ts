/** What a warehouse has yet to be sent: a queue of calls per warehouse, read from both of its ends. */
import type { LedgerRow } from '../../calls/fold.ts';
import { type Queryable, readColumn, type Transaction } from '../../postgres/database.ts';
import { ledgerColumns, readLedgerRow, type StoredLedgerRow } from '../ledger/ledger.ts';
import { concernedWarehouses } from './warehouses.ts';

export interface PendingCall {
  readonly row: LedgerRow;
  readonly partitions: readonly (string | null)[];
  /** Number of the request to write the rows again, equal guards too. */
  readonly rewrite: number | null;
}

/** What of the queue one drain has behind it: calls before `front`, and those between `last` and `tail`, are still to be read. */
export interface QueueCursor {
  readonly front: Place;
  readonly last: Place;
  readonly tail: Place | undefined;
}
type Place = readonly [position: number, callId: string];

export interface PendingBatch {
  readonly calls: readonly PendingCall[];
  /** To be handed to the next read of the same drain; undefined when the next has to begin at the front. */
  readonly cursor: QueueCursor | undefined;
}

export interface PendingRules {
  /** Most calls of a batch. */
  readonly limit: number;
  /** Calls in a load whose process was alive within this many seconds are left to it, unless they have changed since. */
  readonly graceSeconds: number;
  readonly flattenVersion: number;
  /** Leaves calls that the warehouse has in an earlier revision for another time; erasures are read all the same. */
  readonly newOnly?: boolean;
}

/** Deflated bytes of documents that one batch may hold: about 50 MB of JSON. */
const batchBytes = 8 * 1024 * 1024;
/** Of this many calls of a batch, one is the oldest that waits: newer ones never keep it waiting for good. */
const oldestShare = 8;

/** `change`: what is new now. `backlog`: what a backfill or an import brought; it waits behind changes, by call date. */
export type PendingKind = 'change' | 'backlog';

/** The first digit of `queue_position`. */
const urgencies = { erasures: 0, changes: 1, backlog: 2 } as const;

const markPendingSql = `INSERT INTO warehouse_calls AS w (warehouse, call_id, queue_position)
     SELECT $1, l.call_id,
            CASE WHEN l.tombstone THEN queue_position(${urgencies.erasures}, now())
                 WHEN $3::boolean THEN queue_position(${urgencies.backlog}, l.call_timestamp)
                 ELSE queue_position(${urgencies.changes}, now()) END
       FROM ledger l WHERE l.call_id = ANY($2) ORDER BY l.call_id
     ON CONFLICT (warehouse, call_id) DO UPDATE
        SET pending = true,
            queue_position = CASE WHEN w.pending AND $3::boolean THEN least(w.queue_position, excluded.queue_position)
                                  ELSE excluded.queue_position END`;

/** Of `warehouse_calls`: tombstones that wait since before a time. The later ones stand before them in the queue. */
export const tombstonesBefore = (at: string): string =>
  `queue_position BETWEEN queue_position(${urgencies.erasures}, ${at}::timestamptz) AND queue_position(${urgencies.erasures}, NULL)`;

/**
 * Makes changed calls pending in every registered warehouse, inside the transaction that changed them. Erasures are served before changes, and both before the backlog.
 */
export const markPending = async (
  tx: Transaction,
  callIds: readonly string[],
  kind: PendingKind = 'change',
): Promise<void> => {
  if (callIds.length === 0) return;
  for (const warehouse of await readColumn<string>(tx, `${concernedWarehouses} ORDER BY 1`))
    await tx.query(markPendingSql, [warehouse, callIds, kind === 'backlog']);
};

/**
 * The next pending calls of a warehouse with their documents, bounded in number and bytes: the first of the queue, and a
 * share of its end. With the cursor of the drain, calls that this drain has already had are not stepped over again.
 */
export const readPending = async (
  tx: Transaction,
  warehouse: string,
  rules: PendingRules,
  cursor?: QueueCursor,
): Promise<PendingBatch> => {
  const chosen = await choosePending(tx, warehouse, rules, cursor);
  if (cursor !== undefined && chosen.fresh.length + chosen.next.length === 0) return readPending(tx, warehouse, rules);
  const ids = await withinBytes(
    tx,
    [...chosen.fresh, ...chosen.next, ...chosen.oldest].map(({ id }) => id),
  );
  return { calls: await readCalls(tx, warehouse, ids), cursor: advance(cursor, chosen, ids.length) };
};

/** Calls that a warehouse does not have in their present revision; all calls while a walk (`walk.ts`) looks for them. */
export const countPending = async (db: Queryable, warehouse: string): Promise<number> => {
  const [row] = await db.query<{ pending: number; calls: number; walks: boolean }>(
    `SELECT coalesce(sum(value) FILTER (WHERE name = 'pending:' || $1), 0)::bigint AS pending,
            coalesce(sum(value) FILTER (WHERE name IN ('calls', 'tombstones')), 0)::bigint AS calls,
            coalesce((SELECT walk_after IS NOT NULL FROM warehouses WHERE name = $1), false) AS walks FROM counters`,
    [warehouse],
  );
  return row === undefined ? 0 : row.walks ? Math.max(row.pending, row.calls) : row.pending;
};

/**
 * Has the rows of some calls written again, equal guards too. The request is kept in the store, so that the next load of
 * the warehouse carries it out; a load that is under way does not settle it.
 */
export const requestRewrite = async (db: Queryable, warehouse: string, callIds: readonly string[]): Promise<void> => {
  await db.query(
    `INSERT INTO warehouse_calls (warehouse, call_id, rewrite, queue_position)
     SELECT $1, id, number, queue_position(CASE WHEN l.tombstone THEN ${urgencies.erasures} ELSE ${urgencies.changes} END, now())
       FROM nextval('rewrite_requests') AS number, unnest($2::text[]) AS id LEFT JOIN ledger l ON l.call_id = id
      ORDER BY id COLLATE "C"
     ON CONFLICT (warehouse, call_id) DO UPDATE
        SET pending = true, rewrite = excluded.rewrite, queue_position = excluded.queue_position`,
    [warehouse, callIds],
  );
};

interface QueuedCall {
  readonly id: string;
  readonly position: number;
}

interface Chosen {
  /** Calls that came before the front since the drain began. */
  readonly fresh: readonly QueuedCall[];
  /** Those behind the last one of the drain. */
  readonly next: readonly QueuedCall[];
  /** From the end of the queue; empty when the others are all that there is. */
  readonly oldest: readonly QueuedCall[];
  readonly isAll: boolean;
}

const choosePending = async (
  tx: Transaction,
  warehouse: string,
  rules: PendingRules,
  cursor: QueueCursor | undefined,
): Promise<Chosen> => {
  const read = (range: QueueRange, limit: number) => readQueue(tx, warehouse, rules, range, limit);
  const share = Math.floor(rules.limit / oldestShare);
  const most = rules.limit - share;
  const fresh = cursor === undefined ? [] : await read({ before: cursor.front }, most);
  const after = fresh.length === most ? undefined : cursor?.last;
  const next = await read({ after, before: cursor?.tail }, most - fresh.length);
  const isAll = fresh.length + next.length < most;
  const last = next.at(-1) ?? fresh.at(-1);
  if (isAll || last === undefined) return { fresh, next, oldest: [], isAll: true };
  const oldest = await read({ after: placeOf(last), before: cursor?.tail, backwards: true }, share);
  return { fresh, next, oldest, isAll };
};

/**
 * The cursor behind the first `taken` of the chosen calls. It goes on below the last of them: where that is one that came
 * before the front, the calls between it and the old front are read again.
 */
const advance = (cursor: QueueCursor | undefined, chosen: Chosen, taken: number): QueueCursor | undefined => {
  const forwards = [...chosen.fresh, ...chosen.next];
  const [first] = forwards;
  const last = forwards[Math.min(taken, forwards.length) - 1];
  if (first === undefined || last === undefined || (chosen.isAll && taken === forwards.length)) return undefined;
  const tail = chosen.oldest[taken - forwards.length - 1];
  return {
    front: cursor === undefined || chosen.fresh.length > 0 ? placeOf(first) : cursor.front,
    last: placeOf(last),
    tail: tail === undefined ? cursor?.tail : placeOf(tail),
  };
};

const placeOf = ({ position, id }: QueuedCall): Place => [position, id];
const beforeAll: Place = [-1, ''];
const afterAll: Place = [Number.MAX_SAFE_INTEGER, ''];

interface QueueRange {
  readonly after?: Place | undefined;
  readonly before?: Place | undefined;
  /** From the end of the queue. */
  readonly backwards?: boolean;
}

/**
 * A part of the queue, without calls that are in a load under way, and without rows that only a worker of a higher
 * flatten version can improve: they would win over what this one sends, again and again.
 */
const readQueue = async (
  tx: Transaction,
  warehouse: string,
  rules: PendingRules,
  range: QueueRange,
  limit: number,
): Promise<QueuedCall[]> => {
  const direction = range.backwards === true ? 'DESC' : 'ASC';
  return await tx.query<QueuedCall>(
    `SELECT call_id AS id, queue_position AS position FROM warehouse_calls w
      WHERE warehouse = $1 AND pending
        AND (queue_position, call_id) > ($4, $5::text COLLATE "C") AND (queue_position, call_id) < ($6, $7::text COLLATE "C")
        AND (NOT $9 OR applied_revision = 0 OR rewrite IS NOT NULL OR queue_position / 1000000000000 <> ${urgencies.changes})
        AND (applied_flatten < $3 OR applied_epoch < (SELECT max(epoch) FROM epochs)
             OR applied_revision < (SELECT h.revision FROM ledger h WHERE h.call_id = w.call_id)
             OR applied_flatten = $3 AND $3 >= coalesce((SELECT flatten_version FROM warehouses WHERE name = $1), 0))
        AND call_id NOT IN (
            SELECT lc.call_id FROM load_calls lc JOIN loads USING (load_id) JOIN ledger h USING (call_id)
             WHERE loads.warehouse = $1 AND loads.state = 'planned' AND lc.revision >= h.revision
               AND loads.alive_at > now() - make_interval(secs => $8))
      ORDER BY queue_position ${direction}, call_id ${direction} LIMIT $2`,
    [
      warehouse,
      limit,
      rules.flattenVersion,
      ...(range.after ?? beforeAll),
      ...(range.before ?? afterAll),
      rules.graceSeconds,
      rules.newOnly === true,
    ],
  );
};

/** The first calls whose documents fit into a batch together; always one. */
const withinBytes = async (tx: Transaction, ids: readonly string[]): Promise<readonly string[]> => {
  const sizes = await tx.query<{ id: string; bytes: number }>(
    'SELECT call_id AS id, octet_length(body) AS bytes FROM ledger_documents WHERE call_id = ANY($1)',
    [ids],
  );
  const bytesOf = new Map(sizes.map(({ id, bytes }) => [id, bytes]));
  let sum = 0;
  const end = ids.findIndex((id, index) => {
    sum += bytesOf.get(id) ?? 0;
    return index > 0 && sum > batchBytes;
  });
  return end === -1 ? ids : ids.slice(0, end);
};

/**
 * Locks the calls first: another planner may be about to add a date to one of them, and a load that does not know it would
 * leave the rows there.
 */
const readCalls = async (tx: Transaction, warehouse: string, ids: readonly string[]): Promise<PendingCall[]> => {
  const rows = await tx.query<StoredLedgerRow & { partitions: (string | null)[]; rewrite: number | null }>(
    `SELECT ${ledgerColumns}, w.partitions::text[] AS partitions, w.rewrite, d.body
       FROM warehouse_calls w JOIN ledger l USING (call_id) LEFT JOIN ledger_documents d USING (call_id)
      WHERE w.warehouse = $1 AND w.call_id = ANY($2) AND l.revision > 0 ORDER BY w.call_id FOR UPDATE OF w`,
    [warehouse, ids],
  );
  return await Promise.all(
    rows.map(async (row) => ({ row: await readLedgerRow(row), partitions: row.partitions, rewrite: row.rewrite })),
  );
};
