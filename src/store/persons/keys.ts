/** Keyed hashes of erased calls and persons, and of legal holds. */
import { randomUUID } from 'node:crypto';
import { type Database, type Queryable, unnest } from '../../postgres/database.ts';
import type { LoggedHold } from '../erasure-log.ts';
import { awaitFolds, insertHeld } from '../gate.ts';
import { readMeta, writeMeta } from '../meta.ts';

/**
 * Notes keys of calls that the caller erases in the same transaction, so that they stay erased in a later ledger. Returns whether one is
 * new here.
 * @param objects they are of persons: a call that is not known yet and names one in contacts or metadata becomes a tombstone.
 */
export const noteErased = async (tx: Queryable, keys: readonly string[], objects = false): Promise<boolean> => {
  const noted = await tx.query`
      INSERT INTO erased_keys (call_key, objects) SELECT DISTINCT key, ${objects}::boolean FROM unnest(${keys}::text[]) AS key ORDER BY key
     ON CONFLICT (call_key) DO UPDATE SET objects = true WHERE excluded.objects RETURNING 1`;
  return noted.length > 0;
};

/** The same for keys of persons. Every later fold compares its subjects with them. */
export const addErased = async (db: Database, keys: readonly string[], objects: boolean): Promise<void> => {
  if (keys.length > 0) await awaitFolds(db, (tx) => noteErased(tx, keys, objects));
};

const soughtKey = 'erased_calls_sought';

/** Notes keys of calls that callsync must still find and erase in ledger and warehouses: new keys, or all keys. */
export const seekErased = async (db: Database, keys: readonly string[], all: boolean): Promise<void> => {
  if (keys.length === 0 && !all) return;
  await awaitFolds(db, async (tx) => {
    const isNew = await noteErased(tx, keys);
    if (isNew || (all && (await tx.has`SELECT 1 FROM erased_keys LIMIT 1`)))
      await writeMeta(tx, soughtKey, randomUUID());
  });
};

/**
 * Runs a search for erased calls if one is wanted. Keys that others note meanwhile want another search. All keys stay
 * noted: a call that comes later under one of them becomes a tombstone.
 */
export const whileSought = async (db: Queryable, search: () => Promise<void>): Promise<void> => {
  const sought = await readMeta<unknown>(db, soughtKey);
  if (sought === undefined || sought === false) return;
  await search();
  await db.query`UPDATE meta SET value = 'false' WHERE key = ${soughtKey} AND value = ${JSON.stringify(sought)}`;
};

/**
 * Adds a hold, or keys to a hold. Resolves after all running folds and deletions have ended; later ones see the keys.
 */
export const addHoldKeys = (db: Database, hold: LoggedHold): Promise<void> =>
  awaitFolds(db, async (tx) => {
    await tx.query`INSERT INTO holds (hold_id, kind, reason, actor, held_at) 
        VALUES (${hold.id}, ${hold.kind}, ${hold.reason}, ${hold.actor}, ${hold.at}) ON CONFLICT (hold_id) DO NOTHING`;
    await insertHeld(tx, [
      ...hold.subjects.map((key) => ({ key, hold: hold.id, ofCall: false })),
      ...hold.calls.map((key) => ({ key, hold: hold.id, ofCall: true })),
    ]);
  });

/** True if the store lacks one of these holds, or one of its keys. */
export const lackHolds = (db: Queryable, holds: readonly LoggedHold[]): Promise<boolean> => {
  const keys = holds.flatMap(({ id, calls, subjects }) => [...calls, ...subjects].map((key) => ({ id, key })));
  return db.has`SELECT 1 FROM ${unnest(holds, { id: 'text' })} WHERE NOT EXISTS (SELECT FROM holds h WHERE h.hold_id = id)
     UNION ALL
     SELECT 1 FROM ${unnest(keys, { id: 'text', key: 'text' })}
      WHERE NOT EXISTS (SELECT FROM held_keys k WHERE k.held_key = u.key AND k.hold_id = u.id) LIMIT 1`;
};

/** Takes holds off. Calls that they kept from being too old are looked at again. Returns whether one was on. */
export const dropHolds = async (db: Database, ids: readonly string[]): Promise<boolean> => {
  if (ids.length === 0) return false;
  return await awaitFolds(db, async (tx) => {
    await tx.query`DELETE FROM held_keys WHERE hold_id = ANY(${ids})`;
    const isDropped = await tx.has`DELETE FROM holds WHERE hold_id = ANY(${ids}) RETURNING 1`;
    if (isDropped) await writeMeta(tx, lastHoldDropped, randomUUID());
    return isDropped;
  });
};

/** Key in `meta`: changes whenever a hold is taken off. */
export const lastHoldDropped = 'last_hold_dropped';

/** Oldest first. `calls` = known calls of the hold that are not erased. */
export const listHolds = (db: Queryable) =>
  db.query<Pick<LoggedHold, 'id' | 'kind' | 'reason' | 'actor'> & { at: Date; calls: number }>`
     SELECT hold_id AS id, kind, reason, actor, held_at AS at,
            (SELECT count(*)::int FROM held_keys k WHERE k.hold_id = h.hold_id AND k.of_call
                AND NOT EXISTS (SELECT FROM erased_keys e WHERE e.call_key = k.held_key)) AS calls
       FROM holds h ORDER BY held_at, hold_id`;
