/** Legal holds: calls that neither an erasure nor an age may take. They are known by keyed hashes, as what was erased is. */
import { randomUUID } from 'node:crypto';
import { isObject } from '../../calls/field-reader.ts';
import { metadataSubject, metadataText } from '../../calls/subject-text.ts';
import { unlessTooDeep } from '../../errors.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import type { LoggedHold } from '../erasure-log.ts';
import { writeMeta } from '../meta.ts';
import { awaitFolds, type NotedKeys } from './fold-lock.ts';
import { joinDeletions } from './hold-lock.ts';
import { lockCalls } from './lock-calls.ts';
import { type KeyOf, type NamingCall, namingText, type Subjects } from './subjects.ts';

export interface ListedHold extends Pick<LoggedHold, 'id' | 'kind' | 'reason' | 'actor'> {
  readonly at: Date;
  /** Calls that it names so far and that were not erased. */
  readonly calls: number;
}

/** Puts a hold on, or adds keys to it: while deletions wait. What was being folded meanwhile is when it resolves; what comes later is compared. */
export const addHoldKeys = (store: Database, hold: LoggedHold): Promise<void> =>
  store.transaction(async (tx) => {
    await awaitFolds(tx);
    await tx.query(
      'INSERT INTO holds (hold_id, kind, reason, actor, held_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (hold_id) DO NOTHING',
      [hold.id, hold.kind, hold.reason, hold.actor, hold.at],
    );
    await insertKeys(
      tx,
      hold.subjects.map((key) => ({ key, hold: hold.id, ofCall: false })),
    );
    await insertKeys(
      tx,
      hold.calls.map((key) => ({ key, hold: hold.id, ofCall: true })),
    );
  });

/** Whether the store lacks one of these holds, or a key of it. */
export const lackHolds = async (db: Queryable, holds: readonly LoggedHold[]): Promise<boolean> => {
  const keys = holds.flatMap(({ id, calls, subjects }) => [...calls, ...subjects].map((key) => ({ id, key })));
  const rows = await db.query(
    `SELECT 1 FROM unnest($1::text[]) AS id WHERE NOT EXISTS (SELECT FROM holds h WHERE h.hold_id = id)
     UNION ALL
     SELECT 1 FROM unnest($2::text[], $3::text[]) AS u(id, key)
      WHERE NOT EXISTS (SELECT FROM held_keys k WHERE k.held_key = u.key AND k.hold_id = u.id)
     LIMIT 1`,
    [holds.map(({ id }) => id), keys.map(({ id }) => id), keys.map(({ key }) => key)],
  );
  return rows.length > 0;
};

/** Takes holds off. Calls that they kept from being too old are looked at again. */
export const dropHolds = async (store: Database, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0) return;
  await store.transaction(async (tx) => {
    await awaitFolds(tx);
    await tx.query('DELETE FROM held_keys WHERE hold_id = ANY($1)', [ids]);
    const dropped = await tx.query('DELETE FROM holds WHERE hold_id = ANY($1) RETURNING 1', [ids]);
    if (dropped.length > 0) await writeMeta(tx, lastHoldDropped, randomUUID());
  });
};

/** Key in `meta`: changes whenever a hold is taken off. */
export const lastHoldDropped = 'last_hold_dropped';

/** Oldest first. */
export const listHolds = async (db: Queryable): Promise<ListedHold[]> =>
  await db.query<ListedHold>(
    `SELECT hold_id AS id, kind, reason, actor, held_at AS at,
            (SELECT count(*)::int FROM held_keys k WHERE k.hold_id = h.hold_id AND k.of_call
                AND NOT EXISTS (SELECT FROM erased_keys e WHERE e.call_key = k.held_key)) AS calls
       FROM holds h ORDER BY held_at, hold_id`,
  );

/** Whether a hold is on, or is being put on: it is noted before what it names. */
export const mayHold = async (db: Queryable): Promise<boolean> =>
  (await db.query('SELECT 1 FROM holds UNION ALL SELECT 1 FROM held_keys LIMIT 1')).length > 0;

/** Whether anything is held at all. */
export const haveHolds = async (db: Queryable): Promise<boolean> =>
  (await db.query('SELECT 1 FROM held_keys LIMIT 1')).length > 0;

/**
 * Those of some calls that a hold names, by id or in contacts and metadata: the latter are noted by id too, so that they stay
 * held when the value goes from them. Inside the transaction that folds them, before anything of them is cut and before it locks other
 * rows than those of deliveries.
 * @param noted what `joinFolds` said in this transaction.
 */
export const holdCalls = async (
  tx: Transaction,
  calls: readonly NamingCall[],
  { subjectsIn, keyOf }: Subjects,
  noted: Pick<NotedKeys, 'holdsLater'>,
): Promise<ReadonlySet<string>> => {
  if (calls.length === 0) return none;
  if (noted.holdsLater) await noteHeld(tx, calls, { subjectsIn, keyOf });
  return await readHeld(
    tx,
    calls.map(({ callId }) => callId),
    keyOf,
  );
};

/**
 * Notes by id what holds name otherwise. The calls are locked before, as the fold locks them: a deletion that comes between could not see
 * the note, would take what is held, and the fold would find nothing to keep. Of tombstones nothing is left to be held.
 */
const noteHeld = async (
  tx: Transaction,
  calls: readonly NamingCall[],
  { subjectsIn, keyOf }: Subjects,
): Promise<void> => {
  // A call that is nested too deeply will be refused: it names nothing.
  const named = calls.flatMap((call) => {
    const keys = unlessTooDeep(() => listNamed(call, subjectsIn));
    return keys === undefined ? [] : [{ callId: call.callId, keys: keys.map(keyOf) }];
  });
  const holdsByKey = await readHoldsOf(tx, [...new Set(named.flatMap(({ keys }) => keys))]);
  if (holdsByKey.size === 0) return;
  const gone = await lockCalls(tx, [...new Set(named.map(({ callId }) => callId))]);
  const met = named.flatMap(({ callId, keys }) =>
    gone.has(callId)
      ? []
      : keys.flatMap((key) => holdsByKey.get(key) ?? []).map((hold) => ({ key: keyOf(callId), hold, ofCall: true })),
  );
  await insertKeys(tx, met);
};

/** Those of some calls that are held at this moment; `lockFreeCalls` is for what takes something of the others. */
export const findHeldCalls = async (
  db: Queryable,
  callIds: readonly string[],
  keyOf: KeyOf,
): Promise<ReadonlySet<string>> =>
  callIds.length === 0 || !(await haveHolds(db)) ? none : await readHeld(db, callIds, keyOf);

/**
 * Those of some calls that no hold keeps: in the transaction that takes something of them, before it locks their rows. A hold that is
 * put on meanwhile waits for the end of the transaction; one that a fold finds for a call counts, for the fold locks the call before.
 * @throws CallsyncError HOLD_UNDER_WAY, DATABASE_…
 */
export const lockFreeCalls = async (
  tx: Transaction,
  callIds: readonly string[],
  keyOf: KeyOf,
): Promise<readonly string[]> => {
  const { held } = await joinDeletions(tx);
  if (!held) return callIds;
  const free = await withoutHeld(tx, callIds, keyOf);
  // A fold that is under way may make one of them held; their rows are ours when it has ended.
  await lockCalls(tx, free);
  return await withoutHeld(tx, free, keyOf);
};

const withoutHeld = async (db: Queryable, callIds: readonly string[], keyOf: KeyOf): Promise<readonly string[]> => {
  const held = await readHeld(db, callIds, keyOf);
  return callIds.filter((id) => !held.has(id));
};

/** Those of some calls that are held, for whoever knows that something is. */
const readHeld = async (db: Queryable, callIds: readonly string[], keyOf: KeyOf): Promise<ReadonlySet<string>> => {
  const idsByKey = new Map(callIds.map((id) => [keyOf(id), id]));
  const held = await findHeldKeys(db, [...idsByKey.keys()]);
  return new Set([...held].map((key) => idsByKey.get(key) as string));
};

/** Whether one of these keys, of everything that a text may name, is held. */
export const nameHeld = async (db: Queryable, keys: readonly string[]): Promise<boolean> =>
  (await db.query('SELECT 1 FROM held_keys WHERE held_key = ANY($1) LIMIT 1', [keys])).length > 0;

/** Of a key, in what is noted of texts: two of them begin alike once in 2^64. */
const startLength = 16;
const separator = ',';

/** How the keys of everything that a text names begin, in one string, of which hundreds of thousands may be kept in memory. */
export const startsOf = (text: string, { subjectsIn, keyOf }: Subjects): string => {
  const starts = new Set<string>();
  for (const subject of subjectsIn(text)) starts.add(keyOf(subject).slice(0, startLength));
  return [...starts].join(separator);
};

/** Characters of starts in one statement. */
const startsAtOnce = 1_000_000;

/** Those of some texts that name nothing held, by what `startsOf` said of them, in a transaction in which no hold can be put on. */
export const findFreeKeyed = async <T extends { readonly starts: string }>(
  tx: Transaction,
  texts: readonly T[],
): Promise<T[]> => {
  const free: T[] = [];
  for (let from = 0, to = 0; from < texts.length; from = to) {
    for (let length = 0; to < texts.length && length < startsAtOnce; to += 1) length += texts[to]?.starts.length ?? 0;
    const page = texts.slice(from, to);
    const rows = await tx.query<{ start: string }>(
      `SELECT DISTINCT left(held_key, ${startLength}) AS start FROM held_keys
        WHERE left(held_key, ${startLength}) = ANY(string_to_array($1, '${separator}'))`,
      [page.map(({ starts }) => starts).join(separator)],
    );
    const held = new Set(rows.map(({ start }) => start));
    const isFree = ({ starts }: T): boolean => !starts.split(separator).some((start) => held.has(start));
    free.push(...(held.size === 0 ? page : page.filter(isFree)));
  }
  return free;
};

/** Whether each of some texts names nothing that is held. It decides what goes only in a transaction in which no hold can be put on. */
export const findFree = async (
  db: Queryable,
  texts: readonly string[],
  { subjectsIn, keyOf }: Subjects,
): Promise<readonly boolean[]> => {
  const keys = texts.map((text) => Array.from(subjectsIn(text), keyOf));
  const held = await findHeldKeys(db, [...new Set(keys.flat())]);
  return keys.map((named) => !named.some((key) => held.has(key)));
};

const findHeldKeys = async (db: Queryable, keys: readonly string[]): Promise<ReadonlySet<string>> => {
  const held = new Set<string>();
  for (let start = 0; start < keys.length; start += heldKeysPerPage) {
    const rows = await db.query<{ key: string }>(
      'SELECT DISTINCT held_key AS key FROM held_keys WHERE held_key = ANY($1)',
      [keys.slice(start, start + heldKeysPerPage)],
    );
    for (const { key } of rows) held.add(key);
  }
  return held;
};

/**
 * Whether a text names nothing that is held, by keys that are read once; undefined where nothing is held. It decides what goes only in
 * a transaction in which no hold can be put on.
 */
export const readFreeMatcher = async (
  db: Queryable,
  { subjectsIn, keyOf }: Subjects,
): Promise<((text: string) => boolean) | undefined> => {
  const held = await readHeldKeys(db);
  if (held.size === 0) return undefined;
  return (text) => {
    for (const subject of subjectsIn(text)) if (held.has(keyOf(subject))) return false;
    return true;
  };
};

/** Rows of one statement. */
const heldKeysPerPage = 10_000;

/** Keys of everything that is held. */
const readHeldKeys = async (db: Queryable): Promise<ReadonlySet<string>> => {
  const held = new Set<string>();
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: readonly { readonly key: string }[] = await db.query<{ key: string }>(
      'SELECT DISTINCT held_key AS key FROM held_keys WHERE held_key > $1 ORDER BY held_key LIMIT $2',
      [after, heldKeysPerPage],
    );
    for (const { key } of rows) held.add(key);
    after = rows.length < heldKeysPerPage ? undefined : rows.at(-1)?.key;
  }
  return held;
};

const none: ReadonlySet<string> = new Set();

/** Subjects that contacts and metadata of a call name, also by the tokens that former keys made of their values. */
const listNamed = (call: NamingCall, subjectsIn: Subjects['subjectsIn']): string[] => {
  const { metadata } = call.fields;
  const former = [...(call.aliases ?? [])];
  const pairs = Object.entries(isObject(metadata) ? metadata : {}).flatMap(([key, value]) => {
    const text = metadataText(value);
    return [text, ...former.flatMap(([old, token]) => (token === text ? [old] : []))].map((one) =>
      metadataSubject(key, one),
    );
  });
  return [...subjectsIn(namingText(call)), ...pairs];
};

const readHoldsOf = async (db: Queryable, keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> => {
  const rows = await db.query<{ key: string; holds: string[] }>(
    'SELECT held_key AS key, array_agg(hold_id) AS holds FROM held_keys WHERE NOT of_call AND held_key = ANY($1) GROUP BY 1',
    [keys],
  );
  return new Map(rows.map(({ key, holds }) => [key, holds]));
};

interface HeldKey {
  readonly key: string;
  readonly hold: string;
  readonly ofCall: boolean;
}

/** In order, so that folds which note the same calls do not wait for each other. */
const insertKeys = async (tx: Queryable, keys: readonly HeldKey[]): Promise<void> => {
  if (keys.length === 0) return;
  await tx.query(
    `INSERT INTO held_keys (held_key, hold_id, of_call)
     SELECT DISTINCT key, hold, of_call FROM unnest($1::text[], $2::text[], $3::boolean[]) AS u(key, hold, of_call)
      ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
    [keys.map(({ key }) => key), keys.map(({ hold }) => hold), keys.map(({ ofCall }) => ofCall)],
  );
};
