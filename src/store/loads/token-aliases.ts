/**
 * Aliases of tokens: what a former key made of a value, and the newest token of it. One row a former token, always with the
 * newest, so that one join follows it; warehouses are told of every change, and of every alias that goes.
 */
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { findErasedTokens } from '../ledger/erased-keys.ts';
import type { Subjects } from '../ledger/subjects.ts';
import { concernedWarehouses } from './warehouses.ts';

interface Aliased {
  readonly callId: string;
  /** Former token → newer one. */
  readonly aliases?: ReadonlyMap<string, string>;
}

export interface UnloadedAlias {
  readonly oldToken: string;
  /** Null where the alias is gone: its row is to go, too. */
  readonly newToken: string | null;
  /** Of the queue's entry. */
  readonly version: string;
}

/**
 * Notes the aliases that came with observations, but those of calls and persons that were erased. The last writes of a transaction: who
 * writes aliases waits for others that do, and for nothing after it.
 */
export const noteAliases = async (
  tx: Transaction,
  observations: readonly Aliased[],
  subjects: Subjects,
  warehouses: readonly string[],
): Promise<void> => {
  const named = observations.filter(({ aliases }) => aliases !== undefined);
  if (named.length === 0) return;
  const alive = await tx.query<{ id: string }>(
    'SELECT call_id AS id FROM ledger WHERE call_id = ANY($1) AND NOT tombstone',
    [named.map(({ callId }) => callId)],
  );
  const kept = new Set(alive.map(({ id }) => id));
  const pairs = new Map(named.flatMap(({ callId, aliases }) => (kept.has(callId) ? [...(aliases ?? [])] : [])));
  await writeAliases(tx, pairs, warehouses, subjects);
};

/** Takes over what a warehouse has: the store may have been set back. Those of the store stay. */
export const adoptAliases = (store: Database, pairs: ReadonlyMap<string, string>): Promise<void> =>
  store.transaction(async (tx) => {
    await tx.query(lock);
    const added = await tx.query<{ token: string }>(
      `INSERT INTO token_aliases SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING RETURNING old_token AS token`,
      [[...pairs.keys()], [...pairs.values()]],
    );
    await tellWarehouses(
      tx,
      added.map(({ token }) => token),
      [],
    );
  });

/** Former tokens of the aliases of which `isMeant`, by both tokens in one text. */
export const findAliases = async (db: Queryable, isMeant: (tokens: string) => boolean): Promise<string[]> => {
  const found: string[] = [];
  for await (const page of listAliases(db))
    for (const { old, token } of page) if (isMeant(JSON.stringify([old, token]))) found.push(old);
  return found;
};

/** Removes aliases, in the warehouses too with their next loads. */
export const dropAliases = async (tx: Transaction, oldTokens: readonly string[]): Promise<void> => {
  if (oldTokens.length === 0) return;
  await tx.query(lock);
  await tx.query('DELETE FROM token_aliases WHERE old_token = ANY($1)', [oldTokens]);
  await tellWarehouses(tx, oldTokens, []);
};

/** Removes those that name a person who was erased: a store or a warehouse that is set back has them again. */
export const dropErasedAliases = async (store: Database & Subjects): Promise<void> => {
  for await (const page of listAliases(store)) {
    await store.transaction(async (tx) => {
      const erased = await findErasedTokens(
        tx,
        page.flatMap(({ old, token }) => [old, token]),
        store,
      );
      const gone = page.filter(({ old, token }) => erased.has(old) || erased.has(token));
      await dropAliases(
        tx,
        gone.map(({ old }) => old),
      );
    });
  }
};

/** Removes every alias to or from a token of a key; returns how many. */
export const forgetAliasesOf = (store: Database, keyId: string): Promise<number> =>
  store.transaction(async (tx) => {
    const rows = await tx.query<{ token: string }>(
      `SELECT old_token AS token FROM token_aliases WHERE starts_with(old_token, $1) OR starts_with(new_token, $1)`,
      [`ph_${keyId}_`],
    );
    await dropAliases(
      tx,
      rows.map(({ token }) => token),
    );
    return rows.length;
  });

/** Aliases that a warehouse does not have as they are now. */
export const unloadedAliases = (db: Queryable, warehouse: string, limit: number): Promise<UnloadedAlias[]> =>
  db.query<UnloadedAlias>(
    `SELECT u.old_token AS "oldToken", a.new_token AS "newToken", u.version
       FROM unloaded_aliases u LEFT JOIN token_aliases a USING (old_token)
      WHERE u.warehouse = $1 ORDER BY u.old_token LIMIT $2`,
    [warehouse, limit],
  );

/**
 * Takes aliases that a warehouse has now off its queue. One that changed meanwhile stays, and one that another load took off
 * comes back: nobody knows which of the two was committed last.
 */
export const markAliasesLoaded = async (
  store: Database,
  warehouse: string,
  loaded: readonly UnloadedAlias[],
): Promise<void> => {
  if (loaded.length === 0) return;
  await store.query(
    `WITH settled AS (
       DELETE FROM unloaded_aliases u USING unnest($2::text[], $3::uuid[]) AS l(old_token, version)
        WHERE u.warehouse = $1 AND u.old_token = l.old_token AND u.version = l.version RETURNING u.old_token)
     INSERT INTO unloaded_aliases SELECT $1, token FROM unnest($2::text[]) AS token
      WHERE token NOT IN (SELECT old_token FROM settled) ON CONFLICT DO NOTHING`,
    [warehouse, loaded.map(({ oldToken }) => oldToken), loaded.map(({ version }) => version)],
  );
};

const rowsPerPage = 2_000;

/** Held until the transaction ends. */
const lock = `SELECT pg_advisory_xact_lock(hashtext('callsync.token_aliases'))`;

interface Alias {
  readonly old: string;
  readonly token: string;
}

const columnsOf = (aliases: readonly Alias[]): [string[], string[]] => [
  aliases.map(({ old }) => old),
  aliases.map(({ token }) => token),
];

/** The newest token of each value that the store has another one of, or none. */
const findFresh = (tx: Queryable, old: readonly string[], token: readonly string[]): Promise<Alias[]> =>
  tx.query<Alias>(freshSql, [old, token]);

const freshSql = `SELECT p.old, coalesce(n.new_token, p.token) AS token
  FROM unnest($1::text[], $2::text[]) AS p(old, token)
  LEFT JOIN token_aliases n ON n.old_token = p.token
  LEFT JOIN token_aliases h ON h.old_token = p.old
 WHERE p.old <> coalesce(n.new_token, p.token) AND h.new_token IS DISTINCT FROM coalesce(n.new_token, p.token)`;

/** Nearly always nothing is new: then nothing is locked. The keys of who was erased are locked before aliases are, always. */
const writeAliases = async (
  tx: Transaction,
  pairs: ReadonlyMap<string, string>,
  warehouses: readonly string[],
  subjects: Subjects,
): Promise<void> => {
  const newest = [...pairs.values()].map((token) => pairs.get(token) ?? token);
  const found = await findFresh(tx, [...pairs.keys()], newest);
  if (found.length === 0) return;
  const erased = await findErasedTokens(
    tx,
    found.flatMap(({ old, token }) => [old, token]),
    subjects,
  );
  const kept = found.filter(({ old, token }) => !erased.has(old) && !erased.has(token));
  await tx.query(lock);
  const fresh = await findFresh(tx, ...columnsOf(kept));
  const written = await tx.query<{ token: string }>(
    `WITH fresh AS (SELECT * FROM unnest($1::text[], $2::text[]) AS f(old, token)),
          moved AS (UPDATE token_aliases a SET new_token = f.token FROM fresh f
                     WHERE a.new_token = f.old AND a.old_token <> f.token AND a.old_token NOT IN (SELECT old FROM fresh)
                     RETURNING a.old_token),
          added AS (INSERT INTO token_aliases SELECT old, token FROM fresh
                    ON CONFLICT (old_token) DO UPDATE SET new_token = excluded.new_token RETURNING old_token)
     SELECT old_token AS token FROM moved UNION SELECT old_token FROM added`,
    columnsOf(fresh),
  );
  await tellWarehouses(
    tx,
    written.map(({ token }) => token),
    warehouses,
  );
};

/** @param warehouses configured ones, beside those that are registered. */
const tellWarehouses = async (
  tx: Queryable,
  oldTokens: readonly string[],
  warehouses: readonly string[],
): Promise<void> => {
  await tx.query(
    `INSERT INTO unloaded_aliases SELECT c.warehouse, token FROM (${concernedWarehouses('$1')}) AS c, unnest($2::text[]) AS token
      ORDER BY 1, 2 ON CONFLICT (warehouse, old_token) DO UPDATE SET version = excluded.version`,
    [warehouses, oldTokens],
  );
};

async function* listAliases(db: Queryable): AsyncGenerator<Alias[]> {
  for (let after = ''; ; ) {
    const rows = await db.query<Alias>(
      'SELECT old_token AS old, new_token AS token FROM token_aliases WHERE old_token > $1 ORDER BY old_token LIMIT $2',
      [after, rowsPerPage],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < rowsPerPage) return;
    after = rows.at(-1)?.old ?? after;
  }
}
