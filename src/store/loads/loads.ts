/** The queue of pending calls of each warehouse, read from both ends, and the loads planned from it. */
import { randomUUID } from 'node:crypto';
import type { LedgerRow } from '../../calls/fold.ts';
import type { Interval } from '../../lib/intervals.ts';
import type { Database, Queryable, Sql, Transaction } from '../../postgres/database.ts';
import { raw, sql, toMicros, toTimestamp, unnest } from '../../postgres/database.ts';
import { readRows } from '../ledger/ledger.ts';
import { withinBytes } from '../ledger/read-ledger.ts';
import { concernedWarehouses } from './warehouses.ts';

/** `rewrite` = number of the request to write the rows again, equal guards too. */
type PendingCall = {
  readonly row: LedgerRow;
  readonly partitions: readonly (string | null)[];
  rewrite: number | null;
};

/** Progress of one drain: calls before `front`, and those between `last` and `tail`, are still unread. */
export type QueueCursor = { readonly front: Place; readonly last: Place; readonly tail: Place | undefined };
type Place = readonly [position: number, callId: string];

/** `cursor` = for the next read of the same drain; undefined when the next has to begin at the front. */
type PendingBatch = { readonly calls: readonly PendingCall[]; readonly cursor: QueueCursor | undefined };

interface PendingRules {
  /** Most calls of a batch. */
  readonly limit: number;
  /** Calls in a load whose process was alive within this many seconds are left to it, unless they have changed since. */
  readonly graceSeconds: number;
  readonly flattenVersion: number;
  /** Planned loads that keep their calls in any case. */
  readonly running?: readonly string[] | undefined;
  /** Leaves calls that the warehouse has in an earlier revision for another time; erasures are read all the same. */
  readonly newOnly?: boolean;
  /** Only these calls. */
  readonly ids?: readonly string[] | undefined;
}

/** One call in this many is the oldest pending one, so that newer calls never starve it. */
const oldestShare = 8;

/** `change`: new data. `backlog`: data of a backfill or an import, behind changes and by call date. */
type PendingKind = 'change' | 'backlog';

/** The first digit of `queue_position`. */
const urgencies = { erasures: raw('0'), changes: raw('1'), backlog: raw('2'), refused: raw('3') };

/** Tombstones in `warehouse_calls` that wait since before a time. The queue has later tombstones first. */
export const tombstonesBefore = (at: Date): Sql =>
  sql`queue_position BETWEEN queue_position(${urgencies.erasures}, ${at}::timestamptz) AND queue_position(${urgencies.erasures}, NULL)`;

/**
 * SQL: the row of a call in `warehouse_calls`, for a join. A server without statistics of a new table or warehouse takes
 * its rows for few, and reads them all for each batch. A LIMIT or a lock prevents that.
 */
const rowOfCall = (warehouse: string | Sql, callId: Sql): Sql =>
  sql`LATERAL (SELECT ctid, * FROM warehouse_calls WHERE warehouse = ${warehouse} AND call_id = ${callId} LIMIT 1)`;

/**
 * SQL: the rows of calls in `warehouse_calls`, locked in key order. Writers of several calls lock them first, to avoid
 * deadlocks; only then may they write to them by ctid.
 * @param calls their ids, or SQL for an array of them. The queue may name a call twice that moves in it meanwhile; its row comes once.
 */
const lockedRows = (warehouse: string, calls: readonly string[] | Sql): Sql =>
  sql`(SELECT DISTINCT id COLLATE "C" AS id FROM unnest(${calls}::text[]) AS given (id) ORDER BY id) AS named
      CROSS JOIN LATERAL (SELECT * FROM warehouse_calls WHERE warehouse = ${warehouse} AND call_id = named.id FOR UPDATE) AS locked`;

/**
 * Makes changed calls pending in every registered warehouse, inside the transaction that changed them. Erasures are served before changes, and both before the backlog.
 */
export const markPending = async (tx: Transaction, callIds: readonly string[], kind: PendingKind = 'change') => {
  if (callIds.length === 0) return;
  for (const warehouse of await tx.column<string>`${concernedWarehouses} ORDER BY 1`)
    await tx.query`INSERT INTO warehouse_calls AS w (warehouse, call_id, queue_position)
     SELECT ${warehouse}, l.call_id,
            CASE WHEN l.tombstone THEN queue_position(${urgencies.erasures}, now())
                 WHEN ${kind === 'backlog'}::boolean THEN queue_position(${urgencies.backlog}, l.call_timestamp)
                 ELSE queue_position(${urgencies.changes}, now()) END
       FROM ledger l WHERE l.call_id = ANY(${callIds}) ORDER BY l.call_id
     ON CONFLICT (warehouse, call_id) DO UPDATE
        SET pending = true,
            queue_position = CASE WHEN w.pending AND ${kind === 'backlog'}::boolean THEN least(w.queue_position, excluded.queue_position)
                                  ELSE excluded.queue_position END`;
};

type Walk = { readonly since: Date | null; readonly rewrite: number | null };

/** Makes calls pending that the warehouse lacks. Waits for the end of running completions, because they may know only an older epoch. */
export const markLacking = async (tx: Transaction, warehouse: string, ids: readonly string[], walk: Walk) => {
  await tx.query`SELECT 1 FROM ${lockedRows(warehouse, ids)}`;
  const marked = await tx.query`INSERT INTO warehouse_calls AS w (warehouse, call_id, queue_position, rewrite)
     SELECT ${warehouse}, l.call_id, queue_position(CASE WHEN l.tombstone THEN ${urgencies.erasures} ELSE ${urgencies.backlog} END, l.call_timestamp), ${walk.rewrite}
       FROM ledger l LEFT JOIN ${rowOfCall(warehouse, sql`l.call_id`)} o ON true
      WHERE l.call_id = ANY(${ids}) AND l.revision > 0
        AND (o.call_id IS NULL OR ${walk.rewrite}::bigint IS NOT NULL OR coalesce(o.applied_at, 'infinity') >= ${walk.since}::timestamptz
             OR NOT o.pending AND (o.applied_revision < l.revision
                                   OR o.applied_epoch < (SELECT max(epoch) FROM epochs)
                                   OR o.applied_flatten < (SELECT flatten_version FROM warehouses WHERE name = ${warehouse})
                                   OR o.rewrite IS NOT NULL)
             OR o.refused IS NOT NULL)
      ORDER BY l.call_id
     ON CONFLICT (warehouse, call_id) DO UPDATE
        SET pending = true, rewrite = coalesce(excluded.rewrite, w.rewrite),
            queue_position = CASE WHEN w.pending THEN least(w.queue_position, excluded.queue_position)
                                  ELSE excluded.queue_position END,
            applied_epoch = CASE WHEN coalesce(w.applied_at, 'infinity') >= ${walk.since}::timestamptz THEN 0 ELSE w.applied_epoch END
     RETURNING 1`;
  return marked.length;
};

/**
 * Reads the next pending calls of a warehouse with their documents, bounded in number and bytes. Takes the front of
 * the queue and a share of its end. The cursor of the drain skips calls that it had already.
 */
export const readPending = async (
  tx: Transaction,
  warehouse: string,
  rules: PendingRules,
  cursor?: QueueCursor,
): Promise<PendingBatch> => {
  if (rules.ids !== undefined) return { calls: await readCalls(tx, warehouse, rules.ids), cursor: undefined };
  // The server may take the queue for short, as `rowOfCall` says, and would then read and sort all of it for each batch.
  await tx.query`SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan']) AS name`;
  const chosen = await choosePending(tx, warehouse, rules, cursor);
  if (cursor !== undefined && chosen.fresh.length + chosen.next.length === 0) return readPending(tx, warehouse, rules);
  const all = [...chosen.fresh, ...chosen.next, ...chosen.oldest].map(({ id }) => id);
  const ids = await withinBytes(tx, all);
  return { calls: await readCalls(tx, warehouse, ids), cursor: advance(cursor, chosen, ids.length) };
};

/** SQL over a row `w` of `warehouses`. Counts calls that it does not have in their present revision, and all while a walk looks for them. */
export const pendingSql = sql`(SELECT greatest(coalesce(sum(value) FILTER (WHERE c.name = 'pending:' || w.name), 0),
            CASE WHEN w.walk_after IS NOT NULL THEN sum(value) FILTER (WHERE c.name IN ('calls', 'tombstones')) END)::bigint FROM counters c)`;

/** The same of one warehouse. */
export const countPending = async (db: Queryable, warehouse: string): Promise<number> =>
  (await db.value<number | undefined>`SELECT ${pendingSql} FROM warehouses w WHERE name = ${warehouse}`) ?? 0;

/** Among so many of the ledger the newest is looked for: a warehouse that lacks them all would have the whole ledger walked. */
const newestCalls = raw('500');

/** SQL over a row `w` of `warehouses`. Time of the newest call in it, in microseconds, without calls of the future. */
export const newestLoadedSql = sql`(SELECT ${toMicros('l.call_timestamp')}
         FROM (SELECT call_id, call_timestamp FROM ledger WHERE call_timestamp <= now() AND NOT tombstone
                ORDER BY call_timestamp DESC LIMIT ${newestCalls}) l
        CROSS JOIN ${rowOfCall(raw('w.name'), sql`l.call_id`)} c
        WHERE c.applied_revision > 0
        ORDER BY l.call_timestamp DESC LIMIT 1)`;

/**
 * Requests that the rows of some calls are written again, even with equal guards. The next load carries the request
 * out; a load that is running does not settle it.
 */
export const requestRewrite = (db: Queryable, warehouse: string, callIds: readonly string[]): Promise<unknown> =>
  db.query`INSERT INTO warehouse_calls (warehouse, call_id, rewrite, queue_position)
     SELECT ${warehouse}, id, number, queue_position(CASE WHEN l.tombstone THEN ${urgencies.erasures} ELSE ${urgencies.changes} END, now())
       FROM nextval('rewrite_requests') AS number, unnest(${callIds}::text[]) AS id LEFT JOIN ledger l ON l.call_id = id
      ORDER BY id COLLATE "C"
     ON CONFLICT (warehouse, call_id) DO UPDATE
        SET pending = true, rewrite = excluded.rewrite, queue_position = excluded.queue_position,
            applied_revision = least(warehouse_calls.applied_revision, (SELECT revision FROM ledger WHERE call_id = excluded.call_id)),
            applied_epoch = least(warehouse_calls.applied_epoch, (SELECT max(epoch) FROM epochs))`;

type QueuedCall = { readonly id: string; readonly position: number };

type Chosen = Awaited<ReturnType<typeof choosePending>>;

/**
 * `fresh` = calls that came before the front since the drain began.
 * `next` = calls after the last one of the drain.
 * `oldest` = calls from the end of the queue; empty if the others are all.
 */
const choosePending = async (tx: Transaction, warehouse: string, rules: PendingRules, cursor?: QueueCursor) => {
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
 * The cursor behind the first `taken` calls. If the last of them came before the old front, the calls in between are
 * read again.
 */
const advance = (cursor: QueueCursor | undefined, chosen: Chosen, taken: number): QueueCursor | undefined => {
  const forwards = [...chosen.fresh, ...chosen.next];
  const [first] = forwards;
  const last = forwards[Math.min(taken, forwards.length) - 1];
  if (first === undefined || last === undefined || (chosen.isAll && taken === forwards.length)) return undefined;
  const tail: QueuedCall | undefined = chosen.oldest[taken - forwards.length - 1];
  return {
    front: cursor === undefined || chosen.fresh.length > 0 ? placeOf(first) : cursor.front,
    last: placeOf(last),
    tail: tail === undefined ? cursor?.tail : placeOf(tail),
  };
};

const placeOf = ({ position, id }: QueuedCall): Place => [position, id];
const beforeAll: Place = [-1, ''];
const afterAll: Place = [Number.MAX_SAFE_INTEGER, ''];

/** `backwards` = from the end of the queue. */
type QueueRange = { readonly after?: Place; readonly before?: Place; readonly backwards?: boolean };

/**
 * Part of the queue. Excludes calls of running loads. Excludes rows that only a worker of a higher flatten version
 * can improve, because they would win again and again.
 */
const readQueue = async (tx: Transaction, warehouse: string, rules: PendingRules, range: QueueRange, limit: number) => {
  const direction = raw(range.backwards === true ? 'DESC' : 'ASC');
  const { flattenVersion } = rules;
  const [[first, firstId], [end, endId]] = [range.after ?? beforeAll, range.before ?? afterAll];
  return await tx.query<QueuedCall>`SELECT call_id AS id, queue_position AS position FROM warehouse_calls w
      WHERE warehouse = ${warehouse} AND pending
        AND (queue_position, call_id) > (${first}, ${firstId}::text COLLATE "C")
        AND (queue_position, call_id) < (${end}, ${endId}::text COLLATE "C")
        AND (NOT ${rules.newOnly === true} OR applied_revision = 0 OR rewrite IS NOT NULL
             OR queue_position / 1000000000000 <> ${urgencies.changes})
        AND (applied_flatten < ${flattenVersion} OR applied_epoch < (SELECT max(epoch) FROM epochs)
             OR applied_revision < (SELECT h.revision FROM ledger h WHERE h.call_id = w.call_id)
             OR applied_flatten = ${flattenVersion}
                AND ${flattenVersion} >= coalesce((SELECT flatten_version FROM warehouses WHERE name = ${warehouse}), 0))
        AND (queue_position < ${urgencies.refused} * 1000000000000
             OR queue_position > queue_position(${urgencies.refused}, now() - interval '6 hours'))
        AND call_id NOT IN (
            SELECT lc.call_id FROM load_calls lc JOIN loads USING (load_id) JOIN ledger h USING (call_id)
             WHERE loads.warehouse = ${warehouse} AND loads.state = 'planned' AND lc.revision >= h.revision
               AND (load_id = ANY(${rules.running ?? []}) OR loads.alive_at > now() - make_interval(secs => ${rules.graceSeconds})))
      ORDER BY queue_position ${direction}, call_id ${direction} LIMIT ${limit}`;
};

/**
 * Locks the calls first: another planner may add a date to one of them, and a load without that date would leave the
 * rows there.
 */
const readCalls = async (tx: Transaction, warehouse: string, ids: readonly string[]): Promise<PendingCall[]> => {
  const queued = await tx.query<Omit<PendingCall, 'row'> & { id: string }>`
      SELECT call_id AS id, partitions::text[] AS partitions, rewrite FROM ${lockedRows(warehouse, ids)}`;
  const rows = await readRows(tx, ids);
  return queued.flatMap(({ id, ...call }) => {
    const row = rows.get(id);
    return row === undefined ? [] : { row, ...call };
  });
};

export type PlannedLoad = Readonly<
  Record<'loadId' | 'warehouse' | 'origin', string> & Record<'epoch' | 'flattenVersion', number>
>;

interface LoadEntry {
  readonly callId: string;
  readonly revision: number;
  /** UTC date under which this load sends the call; undefined where the warehouse has no partitions. */
  readonly partition?: string | null | undefined;
  /** The request for a rewrite that this load meets. */
  readonly rewrite?: number | null;
}

/** Writes a load of the current epoch and its list before anything is submitted; the id is new. */
export const planLoad = async (
  tx: Transaction,
  load: Omit<PlannedLoad, 'loadId' | 'epoch'>,
  entries: readonly LoadEntry[],
): Promise<PlannedLoad> => {
  const { warehouse, flattenVersion, origin } = load;
  const loadId = `${warehouse}-${randomUUID()}`;
  const planned =
    await tx.row<PlannedLoad>`INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls)
     SELECT ${loadId}, ${warehouse}, coalesce(max(epoch), 0), ${flattenVersion}, ${origin}, ${entries.length} FROM epochs
     RETURNING load_id AS "loadId", warehouse, epoch, flatten_version AS "flattenVersion", origin`;
  await tx.query`INSERT INTO load_calls (load_id, call_id, revision, rewrite)
     SELECT ${loadId}, * FROM ${unnest(entries, { callId: 'text', revision: 'int', rewrite: 'bigint' })}`;
  const dated = entries.filter((entry) => entry.partition !== undefined);
  if (dated.length > 0) {
    const ids = dated.map((entry) => entry.callId);
    await tx.query`SELECT 1 FROM ${lockedRows(load.warehouse, ids)}`;
    await tx.query`UPDATE warehouse_calls w SET partitions = w.partitions || u.partition
       FROM ${unnest(dated, { callId: 'text', partition: 'date' })} CROSS JOIN ${rowOfCall(load.warehouse, sql`u."callId"`)} locked
       WHERE w.ctid = locked.ctid AND array_position(w.partitions, u.partition) IS NULL`;
  }
  return planned;
};

/** A delivery of a load's call whose revision the warehouse is not known to have. */
export interface InvisibleDelivery {
  readonly seq: number;
  readonly callId: string;
  readonly revision: number;
  /** Microseconds. */
  readonly receivedAt: number;
  /** A ledger that was set back, or a load that was never recorded, may have brought it before. */
  readonly isDoubtful: boolean;
}

const visibleAt = toTimestamp('at');

type TimesOf = (found: readonly InvisibleDelivery[]) => Promise<readonly number[]>;

/**
 * Records that a load is committed. The applied guard becomes the greater of the old one and the load's.
 * A call stays pending for a higher revision or epoch, for workers of a newer flatten version, or for a later rewrite
 * request. Idempotent.
 * @param timesOf when (microseconds) each delivery became visible that the load made visible; a delivery that was visible before keeps
 * its time.
 * @returns false if the ledger does not know the load, because it was restored since.
 */
export const completeLoad = (store: Database, load: PlannedLoad, timesOf: TimesOf) =>
  store.transaction(async (tx) => {
    const found = await tx.query<InvisibleDelivery>`
      SELECT i.seq, i.call_id AS "callId", i.revision, ${toMicros('i.received_at')} AS "receivedAt",
            i.received_at < (SELECT max(issued_at) FROM epochs)
              OR EXISTS (SELECT FROM loads p JOIN load_calls o ON o.load_id = p.load_id AND o.call_id = s.call_id
                          WHERE p.warehouse = ${load.warehouse} AND p.state = 'planned' AND p.load_id <> ${load.loadId}) AS "isDoubtful"
       FROM load_calls s
       CROSS JOIN LATERAL (SELECT * FROM inbox WHERE call_id = s.call_id AND revision <= s.revision OFFSET 0) i
       CROSS JOIN ${rowOfCall(load.warehouse, sql`i.call_id`)} w
      WHERE s.load_id = ${load.loadId} AND i.revision > w.applied_revision`;
    const times = await timesOf(found);
    const calls = sql`ARRAY(SELECT call_id FROM load_calls WHERE load_id = ${load.loadId})`;
    await tx.query`SELECT 1 FROM ${lockedRows(load.warehouse, calls)}`;
    // Somebody set the ledger back, or deleted rows of it: until the day is reconciled, every load of the call would lose.
    await tx.query`WITH applied AS (
       UPDATE warehouse_calls w SET applied_epoch = ${load.epoch}, applied_revision = s.revision,
              applied_flatten = ${load.flattenVersion}, applied_at = now(),
              pending = s.revision < l.revision OR ${load.epoch} < (SELECT max(epoch) FROM epochs)
                        OR ${load.flattenVersion} < coalesce((SELECT flatten_version FROM warehouses WHERE name = ${load.warehouse}), 0)
                        OR (w.rewrite IS NOT NULL AND w.rewrite IS DISTINCT FROM s.rewrite),
              rewrite = nullif(w.rewrite, s.rewrite), refused = NULL
         FROM load_calls s JOIN ledger l USING (call_id) CROSS JOIN ${rowOfCall(load.warehouse, sql`s.call_id`)} locked
        WHERE s.load_id = ${load.loadId} AND w.ctid = locked.ctid
          AND (w.applied_epoch, w.applied_revision, w.applied_flatten) <= (${load.epoch}, s.revision, ${load.flattenVersion})
       RETURNING w.call_id)
       UPDATE warehouse_calls w SET refused = 'its row is newer than the ledger: callsync reconcile --force over its day',
              queue_position = queue_position(${urgencies.refused}, now())
         FROM load_calls s JOIN ledger l USING (call_id) CROSS JOIN ${rowOfCall(load.warehouse, sql`s.call_id`)} locked
        WHERE s.load_id = ${load.loadId} AND w.ctid = locked.ctid AND NOT l.tombstone AND s.call_id NOT IN (SELECT call_id FROM applied)
          AND s.revision = l.revision AND (w.applied_epoch, w.applied_revision) > (${load.epoch}, l.revision)
          AND ${load.epoch} = (SELECT max(epoch) FROM epochs)`;
    const known = await tx.query`
        UPDATE loads SET state = 'committed', committed_at = coalesce(committed_at, now()), error = NULL WHERE load_id = ${load.loadId}
       RETURNING 1`;
    await tx.query`DELETE FROM load_calls WHERE load_id = ${load.loadId}`;
    if (found.length > 0)
      await tx.query`INSERT INTO visible_deliveries (warehouse, seq, visible_at)
     SELECT ${load.warehouse}, seq, ${visibleAt} FROM unnest(${found.map(({ seq }) => seq)}::bigint[], ${times}::float8[]) AS v(seq, at)
      ORDER BY seq ON CONFLICT DO NOTHING`;
    return known.length > 0;
  }, 'byKeys');

/** Notes a call that the warehouse refuses alone. The call waits for its next change, a fill, or six hours; an erasure does not. */
export const refuseCall = (db: Queryable, warehouse: string, { callId, revision }: LedgerRow, why: string) =>
  db.query`UPDATE warehouse_calls w SET refused = ${why},
            queue_position = CASE WHEN l.tombstone THEN w.queue_position ELSE queue_position(${urgencies.refused}, now()) END
       FROM ledger l WHERE l.call_id = ${callId} AND l.revision = ${revision} AND w.warehouse = ${warehouse} AND w.call_id = ${callId}`;

/** Ids of refused calls by warehouse, the first 20 of each, with the reason. */
export const listRefused = (db: Queryable) =>
  db.query<{ readonly warehouse: string; readonly callId: string; readonly why: string }>`
      SELECT w.name AS warehouse, c.call_id AS "callId", c.refused AS why FROM warehouses w CROSS JOIN LATERAL (
        SELECT call_id, refused FROM warehouse_calls WHERE warehouse = w.name AND refused IS NOT NULL LIMIT 20) AS c ORDER BY 1, 2`;

/** The first pending calls of a warehouse in a range of call times, and why it refuses them. */
export const pendingWithin = (db: Queryable, warehouse: string, { from, to }: Interval) =>
  db.query<{ readonly callId: string; readonly refused: string | null }>`
      SELECT call_id AS "callId", refused FROM ledger JOIN warehouse_calls USING (call_id)
       WHERE warehouse = ${warehouse} AND pending AND call_timestamp >= ${toTimestamp(from)} AND call_timestamp < ${toTimestamp(to)}
       ORDER BY call_timestamp LIMIT 10`;

/** Of these calls, those that were ever to be loaded: the ledger had them. */
export const findSent = async (db: Queryable, warehouse: string, callIds: readonly string[]) =>
  new Set(
    await db.column<string>`SELECT call_id FROM warehouse_calls WHERE warehouse = ${warehouse} AND call_id = ANY(${callIds})`,
  );

/** The process that commits a load is still at it. */
export const keepLoad = (db: Queryable, loadId: string): Promise<unknown> =>
  db.query`UPDATE loads SET alive_at = now() WHERE load_id = ${loadId}`;

/** Pending calls of a warehouse that are left to a load whose process was alive within `graceSeconds`. */
export const countHeld = (db: Queryable, warehouse: string, graceSeconds: number): Promise<number> =>
  db.value`SELECT count(*) AS n FROM load_calls JOIN loads USING (load_id)
      WHERE warehouse = ${warehouse} AND state = 'planned' AND alive_at > now() - make_interval(secs => ${graceSeconds})`;

/** Gives up a load that is known not to be committed; its calls are still pending. `error` names a code, not data. */
export const failLoad = (db: Queryable, loadId: string, error: string): Promise<unknown> =>
  db.query`WITH failed AS (UPDATE loads SET state = 'failed', error = ${error} WHERE load_id = ${loadId} AND state = 'planned')
     DELETE FROM load_calls WHERE load_id = ${loadId}`;

/**
 * Abandons loads of dead workers, so that their lists do not stay. Safe even if one still runs: its calls stay
 * pending until another load commits. Returns the number of loads.
 */
export const abandonLoads = (db: Queryable, olderThanHours: number): Promise<number> =>
  db.value`WITH abandoned AS (UPDATE loads SET state = 'failed', error = 'ABANDONED'
                               WHERE state = 'planned' AND created_at < now() - make_interval(hours => ${olderThanHours}) RETURNING load_id),
          gone AS (DELETE FROM load_calls c USING abandoned a WHERE c.load_id = a.load_id)
     SELECT count(*) AS loads FROM abandoned`;
