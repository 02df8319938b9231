/** Takes what deliveries, quarantine, rereads, frames and aliases of tokens hold of erased calls and persons. */
import { erasedName } from '../../../schemas/erased-name.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { toTimestamp } from '../../postgres/sql-time.ts';
import { findAliases } from '../loads/token-aliases.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';

export interface ErasedCall {
  readonly id: string;
  /** Keyed hash of the id. */
  readonly key: string;
}

/** How many were taken. */
export interface Purged {
  /** Deliveries whose body or call id went. */
  readonly inbox: number;
  readonly quarantine: number;
  readonly rereads: number;
  readonly frames: number;
  /** From tokens of former keys to newer ones. */
  readonly aliases: number;
}

/** A shorter id may be any other value. */
const leastText = 6;
/** Bodies in memory at once. */
const bodiesAtOnce = 100;

/**
 * Bodies of the calls' deliveries are deleted, and a keyed hash takes the place of the call id, in the warehouses' table
 * `deliveries` too. Records in quarantine and frames that name a call are emptied or deleted. Waiting deliveries are left to the
 * merge, which folds them to nothing: it holds them before it asks for calls, so that waiting for them here could be for good.
 */
export const purgeCalls = async (
  tx: Transaction,
  calls: readonly ErasedCall[],
  warehouses: readonly string[],
): Promise<Purged> => {
  const ids = calls.map(({ id }) => id);
  const settled = await tx.query(
    `WITH purged AS (
       UPDATE inbox i SET body = NULL, call_id = u.name, reason = 'erased'
         FROM unnest($1::text[], $2::text[]) AS u(id, name) WHERE i.call_id = u.id AND i.outcome <> 'pending'
       RETURNING i.seq),
     told AS (
       INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
       SELECT c.warehouse, false, seq FROM (${concernedWarehouses('$3')}) AS c, purged ON CONFLICT DO NOTHING)
     SELECT seq FROM purged`,
    [ids, calls.map(({ key }) => erasedName(key)), [...warehouses]],
  );
  const rereads = await tx.query('DELETE FROM rereads WHERE call_id = ANY($1) RETURNING 1', [ids]);
  const named = 'EXISTS (SELECT FROM unnest($1::bytea[]) AS sought WHERE position(sought IN body) > 0)';
  const sought = ids.map((id) => Buffer.from(`${id.length < leastText ? '"unique_id":' : ''}${JSON.stringify(id)}`));
  const quarantine = await tx.query(`${emptyQuarantine} WHERE ${named} RETURNING 1`, [sought]);
  const frames = await tx.query(`DELETE FROM websocket_frames WHERE ${named} RETURNING 1`, [sought]);
  return {
    inbox: settled.length,
    quarantine: quarantine.length,
    rereads: rereads.length,
    frames: frames.length,
    aliases: 0,
  };
};

/** Which of some texts go; asked inside the transaction that takes them away, before it locks a row. */
export type ChooseTexts = (tx: Transaction, texts: readonly Buffer[]) => Promise<readonly boolean[]>;

/** Empties records in quarantine, and deletes frames, of which some belong to no call. Page by page; may be repeated. */
export const purgeTexts = async (
  db: Database,
  choose: ChooseTexts,
): Promise<Pick<Purged, 'quarantine' | 'frames'>> => ({
  quarantine: await purgeTable(db, 'quarantine', choose),
  frames: await purgeTable(db, 'websocket_frames', choose),
});

const purgeTable = (db: Database, table: keyof typeof purges, choose: ChooseTexts): Promise<number> =>
  purgePages(db, bodiesAtOnce, {
    read: (tx, after) => readTexts(tx, table, after),
    choose: async (tx, rows) => {
      const isChosen = await choose(
        tx,
        rows.map(({ body }) => body),
      );
      return rows.filter((_, at) => isChosen[at]);
    },
    purge: `${purges[table]} WHERE id = ANY($1)`,
  });

/** Rows that have an id above another one, in the order of their ids; those of them that go; and how. */
interface Paged<T extends { readonly id: number }> {
  read(tx: Transaction, after: number): Promise<readonly T[]>;
  choose(tx: Transaction, rows: readonly T[]): Promise<readonly T[]>;
  readonly purge: string;
}

/** Each page in a transaction of its own. @returns how many rows went. */
const purgePages = async <T extends { readonly id: number }>(
  db: Database,
  pageSize: number,
  { read, choose, purge }: Paged<T>,
): Promise<number> => {
  let purged = 0;
  for (let after: number | undefined = -1; after !== undefined; ) {
    const from: number = after;
    after = await db.transaction(async (tx) => {
      const rows = await read(tx, from);
      const ids = (await choose(tx, rows)).map(({ id }) => id);
      if (ids.length > 0) await tx.query(purge, [ids]);
      purged += ids.length;
      return rows.length < pageSize ? undefined : rows.at(-1)?.id;
    });
  }
  return purged;
};

/** Bodies of deliveries that go in one transaction. */
const deliveriesAtOnce = 1_000;

/**
 * Empties the bodies of settled deliveries of calls before a time (microseconds), page by page; returns how many. May be repeated.
 * @param listFree those of some calls whose bodies go; asked before a row is locked.
 */
export const purgeBodiesBefore = (
  db: Database,
  before: number,
  listFree: (tx: Transaction, callIds: readonly string[]) => Promise<readonly string[]>,
): Promise<number> =>
  purgePages(db, deliveriesAtOnce, {
    read: (tx, after) =>
      tx.query<{ id: number; callId: string }>(
        `SELECT i.seq::float8 AS id, i.call_id AS "callId" FROM inbox i JOIN ledger l USING (call_id)
          WHERE i.seq > $2 AND i.body IS NOT NULL AND i.outcome <> 'pending' AND l.call_timestamp < ${toTimestamp('$1::float8')}
          ORDER BY i.seq LIMIT $3`,
        [before, after, deliveriesAtOnce],
      ),
    choose: async (tx, rows) => {
      const free = new Set(await listFree(tx, [...new Set(rows.map(({ callId }) => callId))]));
      return rows.filter(({ callId }) => free.has(callId));
    },
    purge: 'UPDATE inbox SET body = NULL WHERE seq = ANY($1)',
  });

/** What these tables still hold of calls that were erased. */
export const countUnpurged = async (
  db: Queryable,
  ids: readonly string[],
): Promise<Pick<Purged, 'inbox' | 'rereads'>> => {
  const [named] = await db.query<{ inbox: number; rereads: number }>(
    `SELECT (SELECT count(*)::int FROM inbox WHERE call_id = ANY($1)) AS inbox,
            (SELECT count(*)::int FROM rereads WHERE call_id = ANY($1)) AS rereads`,
    [ids],
  );
  return { inbox: named?.inbox ?? 0, rereads: named?.rereads ?? 0 };
};

/** Texts and aliases that are meant. */
export const countTexts = async (
  db: Queryable,
  isMeant: (text: string) => boolean,
): Promise<Pick<Purged, 'quarantine' | 'frames' | 'aliases'>> => ({
  quarantine: (await findTexts(db, 'quarantine', isMeant)).length,
  frames: (await findTexts(db, 'websocket_frames', isMeant)).length,
  aliases: (await findAliases(db, isMeant)).length,
});

/** Records in quarantine that only the holder of the private key can look into. */
export const countSealed = async (db: Queryable): Promise<number> => {
  const [row] = await db.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM quarantine WHERE state = 'open' AND substring(body FROM 1 FOR 4) = 'CSX1'::bytea`,
  );
  return row?.n ?? 0;
};

const emptyQuarantine = `UPDATE quarantine SET body = '', state = 'dropped', settled_at = now(), reason = 'erased'`;

/** How what a table holds of a text goes. */
const purges = { quarantine: emptyQuarantine, websocket_frames: 'DELETE FROM websocket_frames' };

const readTexts = (db: Queryable, table: string, after: number): Promise<{ id: number; body: Buffer }[]> =>
  db.query<{ id: number; body: Buffer }>(
    `SELECT id, body FROM ${table} WHERE id > $1 AND octet_length(body) > 0 ORDER BY id LIMIT $2`,
    [after, bodiesAtOnce],
  );

const findTexts = async (
  db: Queryable,
  table: keyof typeof purges,
  isMeant: (text: string) => boolean,
): Promise<number[]> => {
  const found: number[] = [];
  for (let after = -1; ; ) {
    const rows = await readTexts(db, table, after);
    for (const { id, body } of rows) if (isMeant(body.toString('utf8'))) found.push(id);
    if (rows.length < bodiesAtOnce) return found;
    after = rows.at(-1)?.id ?? after;
  }
};
