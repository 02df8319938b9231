/** Keys of calls that were erased, from the erasure log and the warehouses: a call that has one becomes a tombstone. */
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { isSealed } from '../../sealed.ts';
import { awaitFolds, joinFolds, joinTextFolds } from './fold-lock.ts';
import { nameHeld } from './holds.ts';
import { type KeyOf, type NamingCall, namingText, type Subjects } from './subjects.ts';

const keysPerStatement = 1_000;
const idsPerPage = 2_000;

/** Notes the keys of calls that the caller erases in the same transaction, so that they stay erased in a later ledger. */
export const noteErasedKeys = (tx: Queryable, keys: readonly string[]): Promise<void> => insertKeys(tx, keys, 'noted');

/** Notes keys of persons. What was being stored meanwhile is stored when it resolves; all that comes later is compared with them. */
export const notePersons = (
  store: Database,
  keys: readonly string[],
  { objects }: { readonly objects: boolean },
): Promise<void> =>
  store.transaction(async (tx) => {
    await awaitFolds(tx);
    await insertKeys(tx, keys, 'noted');
    if (objects) await tx.query('UPDATE erased_keys SET objects = true WHERE call_key = ANY($1)', [keys]);
  });

/** Those of some calls that name in contacts or metadata a person who objects; inside the transaction that folds them, which knows that somebody does. */
export const findObjected = async (
  tx: Queryable,
  calls: readonly NamingCall[],
  { subjectsIn, keyOf }: Subjects,
): Promise<string[]> => {
  const found: string[] = [];
  for (const call of calls) {
    const keys = [...subjectsIn(namingText(call))].map(keyOf);
    const rows = await tx.query('SELECT 1 FROM erased_keys WHERE objects AND call_key = ANY($1) LIMIT 1', [keys]);
    if (rows.length > 0) found.push(call.callId);
  }
  return found;
};

/**
 * Notes keys of calls that were erased elsewhere. Folds that run meanwhile end first: every later one knows the keys, so
 * that a search of the ledger (`listSought`) finds all others.
 * @param again also those that were noted before.
 */
export const seekErased = async (
  store: Database,
  keys: ReadonlySet<string>,
  { again }: { readonly again: boolean },
): Promise<void> => {
  if (keys.size === 0) return;
  await store.transaction(async (tx) => {
    await awaitFolds(tx);
    await insertKeys(tx, [...keys], again ? 'sought again' : 'sought');
  });
};

/** Keys whose calls are still to be found and erased. */
export const listSought = async (db: Queryable): Promise<string[]> =>
  (await db.query<{ key: string }>('SELECT call_key AS key FROM erased_keys WHERE sought')).map(({ key }) => key);

/** Ends the search for these keys. They stay noted: a call that comes later under one of them becomes a tombstone. */
export const settleSought = async (db: Queryable, keys: readonly string[]): Promise<void> => {
  for (const page of pagesOf(keys)) {
    await db.query('UPDATE erased_keys SET sought = false WHERE call_key = ANY($1)', [page]);
  }
};

/** Those of some calls that were erased before this ledger knew them; inside the transaction that folds them, which knows that some were. */
export const findErased = async (tx: Transaction, callIds: readonly string[], keyOf: KeyOf): Promise<string[]> => {
  const idsByKey = new Map(callIds.map((id) => [keyOf(id), id]));
  return (await knownKeys(tx, [...idsByKey.keys()])).map((key) => idsByKey.get(key) as string);
};

/**
 * Which of some texts name a call or a person that was erased, and nothing that is held; inside the transaction that stores
 * them, or afterwards.
 */
export const findErasedTexts = async (
  tx: Queryable,
  texts: readonly Buffer[],
  { subjectsIn, keyOf }: Subjects,
): Promise<readonly boolean[]> => {
  if (texts.length === 0 || !(await joinTextFolds(tx)).erased) return texts.map(() => false);
  const found: boolean[] = [];
  for (const text of texts) {
    const keys = isSealed(text) ? [] : [...subjectsIn(text.toString('utf8'))].map(keyOf);
    found.push((await knownKeys(tx, keys)).length > 0 && !(await nameHeld(tx, keys)));
  }
  return found;
};

/** Those of some tokens that name a person who was erased. */
export const findErasedTokens = async (
  tx: Queryable,
  tokens: readonly string[],
  { subjectsIn, keyOf }: Subjects,
): Promise<ReadonlySet<string>> => {
  if (tokens.length === 0 || !(await joinFolds(tx)).erased) return new Set();
  const byKey = new Map<string, string>();
  for (const token of tokens) for (const subject of subjectsIn(JSON.stringify(token))) byKey.set(keyOf(subject), token);
  return new Set((await knownKeys(tx, [...byKey.keys()])).map((key) => byKey.get(key) as string));
};

/** How many of some keys, of calls or persons, were erased. */
export const countNoted = async (db: Queryable, keys: readonly string[]): Promise<number> =>
  (await knownKeys(db, keys)).length;

const knownKeys = async (db: Queryable, keys: readonly string[]): Promise<string[]> =>
  keys.length === 0
    ? []
    : (await db.query<{ key: string }>('SELECT call_key AS key FROM erased_keys WHERE call_key = ANY($1)', [keys])).map(
        ({ key }) => key,
      );

const insertKeys = async (tx: Queryable, keys: readonly string[], how: 'noted' | 'sought' | 'sought again') => {
  for (const page of pagesOf(keys)) {
    await tx.query(
      `INSERT INTO erased_keys (call_key, sought) SELECT DISTINCT key, $2::boolean FROM unnest($1::text[]) AS key ORDER BY key
       ON CONFLICT (call_key) DO ${how === 'sought again' ? 'UPDATE SET sought = true' : 'NOTHING'}`,
      [page, how !== 'noted'],
    );
  }
};

function* pagesOf(keys: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < keys.length; start += keysPerStatement) yield keys.slice(start, start + keysPerStatement);
}

/** Ids of the ledger's calls in key order, page by page; tombstones too. */
export async function* listCallIds(
  db: Queryable,
): AsyncGenerator<{ readonly id: string; readonly tombstone: boolean }[]> {
  for (let after = ''; ; ) {
    const rows = await db.query<{ id: string; tombstone: boolean }>(
      'SELECT call_id AS id, tombstone FROM ledger WHERE call_id > $1 ORDER BY call_id LIMIT $2',
      [after, idsPerPage],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < idsPerPage) return;
    after = rows.at(-1)?.id ?? after;
  }
}
