/** Takes what deliveries, quarantine, rereads, frames and aliases of tokens hold of erased calls and persons. */
import { erasedName } from '../../../schemas/erased-name.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { toTimestamp } from '../../postgres/sql-time.ts';
import { isSealed } from '../../sealed.ts';
import { findFree, findFreeKeyed, haveHolds, mayHold, startsOf } from '../ledger/holds.ts';
import type { Subjects } from '../ledger/subjects.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';
import { firstBodiesSql } from './first-bodies.ts';
import { lockRows } from './lock-rows.ts';
import { createNameFinder } from './name-finder.ts';

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

/** Bodies in memory at once, and their bytes; one that is longer comes by itself. */
const bodiesAtOnce = 100;
const bytesAtOnce = 16 * 1024 * 1024;

type TextTable = keyof typeof purges;

interface Text {
  readonly id: number;
  readonly body: Buffer;
}

interface NamedText {
  readonly callIds: readonly string[];
  /** Starts of the keys of everything that it names; undefined where nothing was held, or where they took too much memory. */
  readonly starts: string | undefined;
}

/** By table: ids of rows → what their texts name. */
export type NamedTexts = Readonly<Record<TextTable, ReadonlyMap<number, NamedText>>>;

/** Characters of starts in memory at once: of 200,000 texts of 300 bytes. */
const mostStarts = 64 * 1024 * 1024;

/**
 * Records in quarantine and frames that name one of some calls: each is read once, however many calls are asked for. Where something is
 * held, or a hold is being put on, it also notes under which keys they name what, so that nobody has to read them again. Locks nothing:
 * a search of long texts keeps no fold waiting; what is stored after it is not among them.
 */
export const findNamedTexts = async (
  db: Queryable,
  callIds: readonly string[],
  subjects: Subjects,
): Promise<NamedTexts> => {
  const namesIn = createNameFinder(callIds);
  const isHeld = callIds.length > 0 && (await mayHold(db));
  let left = mostStarts;
  const noteStarts = (body: Buffer): string | undefined => {
    if (!isHeld || left <= 0) return undefined;
    const starts = startsOf(body.toString('utf8'), subjects);
    left -= starts.length;
    return starts;
  };
  const search = async (table: TextTable): Promise<ReadonlyMap<number, NamedText>> => {
    const found = new Map<number, NamedText>();
    if (callIds.length === 0) return found;
    for await (const { id, body } of listTexts(db, table)) {
      const named = namesIn(body);
      if (named.length > 0) found.set(id, { callIds: named, starts: noteStarts(body) });
    }
    return found;
  };
  return { quarantine: await search('quarantine'), websocket_frames: await search('websocket_frames') };
};

/**
 * Empties those records, and deletes those frames, that name one of some calls and nothing that is held, in a transaction in which no
 * hold can be put on. What a text names stays as it was found, for its bytes are never replaced but by nothing, or by the same sealed.
 */
export const purgeNamedTexts = async (
  tx: Transaction,
  texts: NamedTexts,
  callIds: readonly string[],
  subjects: Subjects,
): Promise<Pick<Purged, 'frames' | 'quarantine'>> => {
  const meant = new Set(callIds);
  const purge = async (table: TextTable): Promise<number> => {
    const naming = [...texts[table]].filter(([, { callIds: named }]) => named.some((one) => meant.has(one)));
    const isHeld = naming.length > 0 && (await haveHolds(tx));
    const ids = isHeld ? await listFree(tx, table, naming, subjects) : naming.map(([id]) => id);
    return await purgeRows(tx, table, ids);
  };
  return { quarantine: await purge('quarantine'), frames: await purge('websocket_frames') };
};

/** Only texts of which nothing was noted are read: a hold was put on since they were found, or they were too many. */
const listFree = async (
  tx: Transaction,
  table: TextTable,
  naming: readonly (readonly [number, NamedText])[],
  subjects: Subjects,
): Promise<readonly number[]> => {
  const keyed = naming.flatMap(([id, { starts }]) => (starts === undefined ? [] : [{ id, starts }]));
  const free = (await findFreeKeyed(tx, keyed)).map(({ id }) => id);
  const unread = naming.flatMap(([id, { starts }]) => (starts === undefined ? [id] : []));
  for await (const rows of listPages(tx, table, unread)) {
    // What was sealed since cannot be looked into: it stays, for it may name something held.
    const open = rows.filter(({ body }) => !isSealed(body));
    const isFree = await findFree(
      tx,
      open.map(({ body }) => body.toString('utf8')),
      subjects,
    );
    free.push(...open.filter((_, at) => isFree[at]).map(({ id }) => id));
  }
  return free;
};

/**
 * Bodies of the calls' deliveries are deleted, and a keyed hash takes the place of the call id, in the warehouses' table
 * `deliveries` too. Waiting deliveries are left to the merge, which folds them to nothing: it holds them before it asks
 * for calls, so that waiting for them here could be for good.
 */
export const purgeDeliveries = async (
  tx: Transaction,
  calls: readonly ErasedCall[],
  warehouses: readonly string[],
): Promise<number> => {
  const ids = calls.map(({ id }) => id);
  const settled = await lockRows(tx, 'inbox', `call_id = ANY($1) AND outcome <> 'pending'`, ids);
  await tx.query(
    `WITH purged AS (
       UPDATE inbox i SET body = NULL, call_id = u.name, reason = 'erased'
         FROM unnest($1::text[], $2::text[]) AS u(id, name) WHERE i.call_id = u.id AND i.seq = ANY($4)
       RETURNING i.seq)
     INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
     SELECT c.warehouse, false, seq FROM (${concernedWarehouses('$3')}) AS c, purged ORDER BY 1, 3 ON CONFLICT DO NOTHING`,
    [ids, calls.map(({ key }) => erasedName(key)), [...warehouses], settled],
  );
  return settled.length;
};

/** Behind texts, as by a merge, which keeps what it refuses before it asks for rereads, in the same order. Returns how many went. */
export const purgeRereads = async (tx: Transaction, callIds: readonly string[]): Promise<number> =>
  (
    await tx.query(
      `DELETE FROM rereads WHERE call_id = ANY(ARRAY(
         SELECT call_id FROM rereads WHERE call_id = ANY($1) ORDER BY call_id FOR UPDATE)) RETURNING 1`,
      [callIds],
    )
  ).length;

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

const purgeTable = (db: Database, table: TextTable, choose: ChooseTexts): Promise<number> =>
  purgePages(db, {
    read: (tx, after) => readTexts(tx, table, after),
    choose: async (tx, rows) => {
      const isChosen = await choose(
        tx,
        rows.map(({ body }) => body),
      );
      return rows.filter((_, at) => isChosen[at]);
    },
    purge: (tx, ids) => purgeRows(tx, table, ids),
  });

/** Rows that have an id above another one, in the order of their ids; those of them that go; and how. */
interface Paged<T extends { readonly id: number }> {
  /** None only where no more follow. */
  read(tx: Transaction, after: number): Promise<readonly T[]>;
  choose(tx: Transaction, rows: readonly T[]): Promise<readonly T[]>;
  /** Returns how many rows went. */
  purge(tx: Transaction, ids: readonly number[]): Promise<number>;
}

/** Each page in a transaction of its own. @returns how many rows went. */
const purgePages = async <T extends { readonly id: number }>(
  db: Database,
  { read, choose, purge }: Paged<T>,
): Promise<number> => {
  let purged = 0;
  for (let after: number | undefined = -1; after !== undefined; ) {
    const from: number = after;
    after = await db.transaction(async (tx) => {
      const rows = await read(tx, from);
      const ids = (await choose(tx, rows)).map(({ id }) => id);
      if (ids.length > 0) purged += await purge(tx, ids);
      return rows.at(-1)?.id;
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
  purgePages(db, {
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
    purge: async (tx, ids) => {
      const locked = await lockRows(tx, 'inbox', 'seq = ANY($1)', ids);
      await tx.query('UPDATE inbox SET body = NULL WHERE seq = ANY($1)', [locked]);
      return locked.length;
    },
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

/** Texts that are meant. */
export const countTexts = async (
  db: Queryable,
  isMeant: (body: Buffer) => boolean,
): Promise<Pick<Purged, 'frames' | 'quarantine'>> => {
  const count = async (table: TextTable): Promise<number> => {
    let found = 0;
    for await (const { body } of listTexts(db, table)) if (isMeant(body)) found += 1;
    return found;
  };
  return { quarantine: await count('quarantine'), frames: await count('websocket_frames') };
};

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

/** Returns how many rows went; one that is empty already, as by another of its calls, went before. */
const purgeRows = async (tx: Transaction, table: TextTable, ids: readonly number[]): Promise<number> => {
  if (ids.length === 0) return 0;
  const locked = await lockRows(tx, table, 'id = ANY($1) AND octet_length(body) > 0', ids);
  await tx.query(`${purges[table]} WHERE id = ANY($1)`, [locked]);
  return locked.length;
};

/** The next texts after an id, of some ids or of all, in order, bounded in number and size; none only where no more follow. */
const readTexts = (db: Queryable, table: TextTable, after: number, ids?: readonly number[]): Promise<Text[]> =>
  db.query<Text>(
    `SELECT id, body FROM (${firstBodiesSql(
      `SELECT id, body FROM ${table}
        WHERE id > $1 AND octet_length(body) > 0 AND ($4::bigint[] IS NULL OR id = ANY($4)) ORDER BY id LIMIT $2`,
      'id',
      '$3',
    )}) t ORDER BY id`,
    [after, bodiesAtOnce, bytesAtOnce, ids ?? null],
  );

/** By pages; of some ids each statement is sent no more than it can read. */
async function* listPages(db: Queryable, table: TextTable, ids?: readonly number[]): AsyncGenerator<readonly Text[]> {
  const sorted = ids === undefined ? undefined : [...ids].sort((a, b) => a - b);
  for (let start = 0; sorted === undefined || start < sorted.length; start += bodiesAtOnce) {
    const page = sorted?.slice(start, start + bodiesAtOnce);
    for (let after: number | undefined = -1; after !== undefined; ) {
      const rows = await readTexts(db, table, after, page);
      if (rows.length > 0) yield rows;
      after = rows.at(-1)?.id;
    }
    if (sorted === undefined) return;
  }
}

async function* listTexts(db: Queryable, table: TextTable): AsyncGenerator<Text> {
  for await (const rows of listPages(db, table)) yield* rows;
}
