/** Erases quarantined records and frames by subject, and the deliveries and rereads of calls. */
import { erasedPrefix } from '../../../schemas/tables.ts';
import { readPages } from '../../lib/pages.ts';
import type { Queryable, Sql, Transaction } from '../../postgres/database.ts';
import { raw, repeatTransaction, sql, toTimestamp, unnest } from '../../postgres/database.ts';
import { queueSettled } from '../delivery/inbox.ts';
import { firstBodiesSql, lockRows } from '../delivery/quarantine.ts';
import { findKnown, lockFreeCalls, readNoted } from '../gate.ts';
import { arrayText, isHeldSql, type Store } from '../store.ts';

/** How many were taken. `inbox` = deliveries whose body or call id went. */
export type Purged = Readonly<Record<'inbox' | 'quarantine' | 'rereads' | 'frames', number>>;

/** Sums of several steps; an absent count is 0. */
export const sumPurged = (...parts: readonly Partial<Purged>[]): Purged => {
  const sum = (name: keyof Purged): number => parts.reduce((total, part) => total + (part[name] ?? 0), 0);
  return { inbox: sum('inbox'), quarantine: sum('quarantine'), rereads: sum('rereads'), frames: sum('frames') };
};

/** Writes how many were taken, in the transaction that takes them. */
export type NotePurged = (tx: Transaction, purged: Partial<Purged>) => Promise<unknown>;

const tables = ['quarantine', 'websocket_frames'] as const;
type TextTable = (typeof tables)[number];
/** How a table loses its part of a text. */
const purges = {
  quarantine: sql`UPDATE quarantine SET body = '', call_id = NULL, subjects = NULL, state = 'dropped', settled_at = now(), reason = 'erased'`,
  websocket_frames: sql`DELETE FROM websocket_frames`,
};
const isSealedSql = sql`substring(body FROM 1 FOR 4) = 'CSX1'::bytea`;

/** Bodies in memory at once, and their bytes; a longer body comes alone. */
const bodiesAtOnce = 100;
const bytesAtOnce = 16 * 1024 * 1024;

/**
 * Indexes texts without known subjects, except sealed ones. Bodies only ever become empty or sealed, so the index
 * stays valid.
 */
export const listTextSubjects = async (store: Store): Promise<void> => {
  const { erasures, index } = store;
  for (const table of tables) {
    const unknown = sql`subjects_version IS DISTINCT FROM ${index.version}`;
    for await (const rows of readBodies(store, table, sql`id`, unknown)) {
      const hashes = rows.map(({ body }) => index.hashesOf(erasures.subjects.subjectsInText(body.toString('utf8'))));
      const ids = rows.map(({ key }) => key);
      await repeatTransaction(store, async (tx) => {
        await lockRows(tx, table, sql`id = ANY(${ids})`);
        await tx.query`UPDATE ${raw(table)} t SET subjects = u.subjects::bytea[], subjects_version = ${index.version}
             FROM unnest(${ids}::bigint[], ${hashes.map(arrayText)}::text[]) AS u(id, subjects) WHERE t.id = u.id`;
      });
    }
  }
};

/** Pages of readable bodies, in the order of a key. */
const readBodies = (db: Queryable, table: TextTable | 'inbox', key: Sql, where: Sql) =>
  readPages<{ readonly key: number; readonly body: Buffer }>(1, (last) => {
    const rows = sql`SELECT * FROM ${raw(table)} WHERE ${key} > ${last?.key ?? -1} AND octet_length(body) > 0
                        AND NOT ${isSealedSql} AND ${where} ORDER BY ${key} LIMIT ${bodiesAtOnce}`;
    return db.query`SELECT ${key} AS key, body FROM (${firstBodiesSql(rows, key, bytesAtOnce)}) t ORDER BY ${key}`;
  });

/** Selects texts that name an erased value, or one of some subjects by the first 8 bytes of their hashes. */
type NamedBy = 'erased' | readonly string[];

const namingSql = (table: TextTable, by: NamedBy): Sql =>
  sql`SELECT t.id FROM ${raw(table)} t CROSS JOIN LATERAL unnest(t.subjects) AS n(s)
     JOIN ${by === 'erased' ? sql`erased_keys e ON left(e.call_key, 16) = encode(n.s, 'hex')` : sql`unnest(${arrayText(by)}::bytea[]) AS e(s) USING (s)`}
    WHERE octet_length(t.body) > 0`;

/**
 * Empties records in quarantine, and deletes frames, with an erased value and without a held value. Records without listed subjects stay, so list them before.
 */
export const purgeTexts = async (store: Store, note: NotePurged = async () => undefined): Promise<void> =>
  await repeatTransaction(store, async (tx) => {
    await readNoted(tx, { joins: true });
    await note(tx, await purgeNamedTexts(tx, 'erased'));
  });

/** The same in a transaction that blocks new holds. */
export const purgeNamedTexts = async (tx: Transaction, by: NamedBy): Promise<Pick<Purged, 'quarantine' | 'frames'>> => {
  const purge = async (table: TextTable): Promise<number> => {
    const ids = await tx.column<number>`
        SELECT id FROM ${raw(table)} t WHERE id IN (${namingSql(table, by)}) AND NOT ${isHeldSql('t.subjects')}`;
    if (ids.length === 0) return 0;
    const locked = await lockRows(tx, table, sql`id = ANY(${ids}) AND octet_length(body) > 0`);
    await tx.query`${purges[table]} WHERE id = ANY(${locked})`;
    return locked.length;
  };
  return { quarantine: await purge('quarantine'), frames: await purge('websocket_frames') };
};

/** Texts that name one of some subjects, by the first 8 bytes of their hashes. List subjects that are not known before. */
export const countTexts = async (db: Queryable, by: readonly string[]) => {
  const count = (table: TextTable) =>
    db.row<{ all: number; held: number }>`
        SELECT count(*)::int AS all, count(*) FILTER (WHERE ${isHeldSql('t.subjects')})::int AS held
         FROM ${raw(table)} t WHERE id IN (${namingSql(table, by)})`;
  const [quarantine, frames] = [await count('quarantine'), await count('websocket_frames')];
  return {
    /** Texts of the request that no hold keeps. */
    quarantine: quarantine.all - quarantine.held,
    frames: frames.all - frames.held,
    /** Texts under a hold. */
    heldTexts: quarantine.held + frames.held,
    /** Sealed records, whose subjects only the holder of the private key can read. */
    sealed: await db.value<number>`
        SELECT count(*)::int FROM quarantine WHERE state = 'open' AND ${isSealedSql} AND subjects IS NULL`,
  };
};

/**
 * Deletes bodies of the calls' deliveries and replaces the call id by a keyed hash, in the warehouse table
 * `deliveries` too.
 * Skips waiting deliveries: the merge locks them before calls, so waiting here could deadlock. The merge folds them
 * to nothing.
 */
export const purgeDeliveries = async (tx: Transaction, callIds: readonly string[], keyOf: Store['keyOf']) => {
  const settled = await lockRows(tx, 'inbox', sql`call_id = ANY(${callIds}) AND outcome <> 'pending'`);
  const named = callIds.map((id) => ({ id, name: erasedPrefix + keyOf(id) }));
  await tx.query`WITH settled AS (
       UPDATE inbox i SET body = NULL, call_id = u.name, reason = 'erased'
         FROM ${unnest(named, { id: 'text', name: 'text' })} WHERE i.call_id = u.id AND i.seq = ANY(${settled}) RETURNING seq) ${queueSettled}`;
  return settled.length;
};

/**
 * After texts, in the order of a merge, which quarantines before it requests rereads. Returns the number of deleted
 * rows.
 */
export const purgeRereads = async (tx: Transaction, callIds: readonly string[]): Promise<number> => {
  const gone = await tx.query`DELETE FROM rereads WHERE call_id = ANY(ARRAY(
                 SELECT call_id FROM rereads WHERE call_id = ANY(${callIds}) ORDER BY call_id FOR UPDATE)) RETURNING 1`;
  return gone.length;
};

/**
 * Empties bodies of settled deliveries from before a time that name a subject, except held ones. Subjects are the
 * first 8 bytes of hashes. The current call may name another person, so this reads every body. Sealed ones are
 * unreadable.
 */
export const purgeNamingBodies = async (store: Store, by: readonly string[], before: Date, note: NotePurged) => {
  const { erasures, index, keyOf } = store;
  if (by.length === 0) return;
  const sought = new Set(by);
  const settled = sql`outcome <> 'pending' AND received_at < ${before}`;
  for await (const rows of readBodies(store, 'inbox', sql`seq`, settled)) {
    const meant = rows.flatMap(({ key: seq, body }) => {
      const named = [...erasures.subjects.subjectsInText(body.toString('utf8'))];
      return index.hashesOf(named).some((one) => sought.has(one)) ? [{ seq, keys: named.map(keyOf) }] : [];
    });
    if (meant.length === 0) continue;
    await repeatTransaction(store, async (tx) => {
      await readNoted(tx, { joins: true });
      const allKeys = meant.flatMap(({ keys }) => keys);
      const known = await findKnown(tx, allKeys);
      const free = meant.filter(({ keys }) => !keys.some((key) => known.get(key)?.isHeld)).map(({ seq }) => seq);
      await note(tx, { inbox: await emptyBodies(tx, free) });
    });
  }
};

/** Returns how many had a body. */
const emptyBodies = async (tx: Transaction, seqs: readonly number[]): Promise<number> => {
  const locked = await lockRows(tx, 'inbox', sql`seq = ANY(${seqs}) AND body IS NOT NULL`);
  await tx.query`UPDATE inbox SET body = NULL WHERE seq = ANY(${locked})`;
  return locked.length;
};

/** Number of delivery bodies that one transaction empties. */
const deliveriesAtOnce = 1_000;

/**
 * Empties the bodies of settled deliveries of calls before a time (microseconds) that no hold keeps; returns how many.
 * May be repeated.
 */
export const purgeBodiesBefore = async (store: Store, before: number): Promise<number> => {
  let purged = 0;
  const pages = readPages<{ readonly seq: number; readonly callId: string }>(
    deliveriesAtOnce,
    (last) => store.query`
      SELECT seq, i.call_id AS "callId" FROM inbox i JOIN ledger l USING (call_id)
       WHERE seq > ${last?.seq ?? -1} AND body IS NOT NULL AND outcome <> 'pending' AND l.call_timestamp < ${toTimestamp(before)}
       ORDER BY seq LIMIT ${deliveriesAtOnce}`,
  );
  for await (const page of pages)
    purged += await store.transaction(async (tx) => {
      const free = new Set(await lockFreeCalls(tx, [...new Set(page.map(({ callId }) => callId))], store));
      const seqs = page.flatMap(({ seq, callId }) => (free.has(callId) ? [seq] : []));
      return await emptyBodies(tx, seqs);
    });
  return purged;
};
