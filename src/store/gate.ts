/**
 * The gate. Every record passes it before it is stored, and every deletion asks it for calls under a legal hold. The
 * lock of the gate orders writers of keys and folds.
 */
import type { Observation, RejectedRecord } from '../../schemas/observation.ts';
import type { Ages } from '../calls/age.ts';
import { type PreparedObservation, prepareObservation } from '../calls/fold.ts';
import { isSealed } from '../lib/sealed.ts';
import { type Database, type Queryable, type Transaction, unnest } from '../postgres/database.ts';
import type { StoredText } from './delivery/quarantine.ts';
import { lockCalls } from './ledger/ledger.ts';
import { isHeldSql, type Store } from './store.ts';

/**
 * Advisory lock, shared by folds and deletions. Writers of keys take it exclusively, and so does a session that waits
 * for all running folds.
 * Taken later than a row lock, it deadlocks. A waiting exclusive lock blocks new folds, so no slow work may share it.
 */
const foldLock = 7_202_611_211;

/**
 * Whether there are keys of erased calls and persons, of persons who object to later calls, of legal holds, and of holds
 * on later calls. Most stores have none, and folds then skip the comparison.
 */
type NotedKeys = Readonly<Record<'erased' | 'objects' | 'held' | 'holdsLater', boolean>>;

/** @param joins takes part in the fold lock, so that keys of other writers are known or come after the transaction. */
export const readNoted = async (db: Queryable, { joins = false } = {}): Promise<NotedKeys> => {
  // A statement sees only commits before its start, so one that waits for the lock would miss the holder's.
  if (joins) await db.query`SELECT pg_advisory_xact_lock_shared(${foldLock})`;
  return await db.row<NotedKeys>`SELECT EXISTS (SELECT FROM erased_keys) AS erased, EXISTS (SELECT FROM erased_keys WHERE objects) AS objects,
       EXISTS (SELECT FROM held_keys) AS held, EXISTS (SELECT FROM held_keys WHERE NOT of_call) AS "holdsLater"`;
};

/** Folds and deletions that run have ended before `work` begins; others begin after its end. */
export const awaitFolds = <T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> =>
  db.transaction(async (tx) => {
    await tx.query`SELECT pg_advisory_xact_lock(${foldLock})`;
    return await work(tx);
  });

export interface GateRules {
  /**
   * Privacy rules, in the only step from received to stored records, so that no path bypasses them. Undefined if none
   * are configured.
   */
  readonly sanitize: ((observation: Observation) => Observation) | undefined;
  /** Replaces a record that no rule can read. Identity if there are no rules. */
  readonly seal?: (record: RejectedRecord) => RejectedRecord;
  /** Limits by age, applied after `sanitize`; absent if there are none. */
  readonly ages?: Ages | undefined;
}

type Keys = Pick<Store, 'erasures' | 'index' | 'keyOf'>;

/** An observation, and its form after the rules. */
type Cleaned = Readonly<Record<'observation' | 'clean', Observation>>;

interface Arriving {
  readonly cleaned: readonly Cleaned[];
  readonly rejected: readonly RejectedRecord[];
}

/**
 * Inside the transaction that stores the batch, before it locks rows other than those of deliveries.
 * `kept` = after the rules, without expired parts. `erased` = calls whose own keys are erased.
 * `tombstoned` = calls that become tombstones if the ledger does not know them: erased, objected to, or expired.
 * `texts` = texts without erased subjects, sealed if there are rules, with their subjects.
 */
export const admit = async (
  tx: Transaction,
  { cleaned, rejected }: Arriving,
  { store, ...rules }: GateRules & { readonly store: Keys },
) => {
  const noted = await readNoted(tx, { joins: true });
  const { erased, objecting, held } = await findNamed(tx, cleaned, store, noted);
  const kept = cleaned.map(({ clean }) => ageOf(rules, clean, held));
  const old = kept.flatMap(({ callId, fields }) => (rules.ages?.isExpired(fields) === true ? [callId] : []));
  const free = [...objecting, ...old].filter((id) => !held.has(id));
  const texts = await keepTexts(tx, rejected, { store, seal: rules.seal, noted });
  return { kept, erased, tombstoned: new Set([...erased, ...free]), texts };
};

/** Cleans, ages, renders and hashes an observation. @param held calls under a legal hold, from which no age takes anything. */
export const prepare = (rules: GateRules, observation: Observation, held: ReadonlySet<string>) =>
  ageOf(rules, rules.sanitize?.(observation) ?? observation, held);

const ageOf = ({ ages }: Pick<GateRules, 'ages'>, clean: Observation, held: ReadonlySet<string>): PreparedObservation =>
  prepareObservation(ages === undefined || held.has(clean.callId) ? clean : ages.age(clean));

/**
 * `held` = a hold names the call. `holds` = holds that name a value of the record other than its call id. `isHeld` = as
 * either.
 */
type KnownKey = Readonly<Record<'erased' | 'objects' | 'held' | 'isHeld', boolean>> & { holds: readonly string[] };

/** Keys that were erased or are held. */
export const findKnown = async (db: Queryable, keys: Iterable<string>): Promise<ReadonlyMap<string, KnownKey>> => {
  const asked = [...new Set(keys)];
  if (asked.length === 0) return new Map();
  const rows = await db.query<KnownKey & { key: string }>`
      SELECT k.key, e.call_key IS NOT NULL AS erased, coalesce(e.objects, false) AS objects,
            coalesce(h.of_call, false) AS held, coalesce(h.later, '{}') AS holds, h.held_key IS NOT NULL AS "isHeld"
       FROM unnest(${asked}::text[]) AS k(key) LEFT JOIN erased_keys e ON e.call_key = k.key
       LEFT JOIN (SELECT held_key, bool_or(of_call) AS of_call, array_agg(hold_id) FILTER (WHERE NOT of_call) AS later
                    FROM held_keys WHERE held_key = ANY(${asked}) GROUP BY held_key) h ON h.held_key = k.key
      WHERE e.call_key IS NOT NULL OR h.held_key IS NOT NULL`;
  return new Map(rows.map(({ key, ...one }) => [key, one]));
};

type HeldKey = { readonly key: string; readonly hold: string; readonly ofCall: boolean };

/** In order, so that folds which note the same calls do not wait for each other. */
export const insertHeld = async (tx: Queryable, keys: readonly HeldKey[]): Promise<void> => {
  if (keys.length === 0) return;
  await tx.query`INSERT INTO held_keys (held_key, hold_id, of_call)
     SELECT DISTINCT * FROM ${unnest(keys, { key: 'text', hold: 'text', ofCall: 'boolean' })} ORDER BY 1, 2 ON CONFLICT DO NOTHING`;
};

const findNamed = async (tx: Transaction, cleaned: readonly Cleaned[], keys: Keys, noted: NotedKeys) => {
  if (cleaned.length === 0 || !(noted.erased || noted.held))
    return { erased: [], objecting: [], held: new Set<string>() };
  const calls = cleaned.map((one) => ({
    id: one.observation.callId,
    key: keys.keyOf(one.observation.callId),
    ...namesIn(one, keys, noted),
  }));
  const named = calls.flatMap(({ key, party, all }) => [key, ...party, ...all]);
  const known = await findKnown(tx, named);
  const idsOf = (isMeant: (call: (typeof calls)[number]) => boolean) => calls.filter(isMeant).map(({ id }) => id);
  const holding = calls.map(({ id, key, party, all }) => {
    const holds = [...party, ...all].flatMap((one) => known.get(one)?.holds ?? []);
    return { id, key, holds: [...new Set(holds)] };
  });
  const noting = await noteHeld(tx, holding);
  return {
    erased: idsOf(({ key }) => known.get(key)?.erased === true),
    objecting: idsOf(({ party }) => party.some((one) => known.get(one)?.objects === true)),
    held: new Set([...idsOf(({ key }) => known.get(key)?.held === true), ...noting]),
  };
};

/**
 * Records the id of a call that a hold names otherwise, so that the hold survives a change of the value.
 * The calls of the batch are locked first, like in a fold. Otherwise a deletion in between would miss the note.
 * Tombstones hold nothing.
 */
const noteHeld = async (tx: Transaction, named: readonly { id: string; key: string; holds: readonly string[] }[]) => {
  if (named.every(({ holds }) => holds.length === 0)) return [];
  const gone = await lockCalls(tx, [...new Set(named.map(({ id }) => id))]);
  const noting = named.filter(({ id, holds }) => holds.length > 0 && !gone.has(id));
  const keys = noting.flatMap(({ key, holds }) => holds.map((hold) => ({ key, hold, ofCall: true })));
  await insertHeld(tx, keys);
  return noting.map(({ id }) => id);
};

/**
 * Keys of a call, before and after the rules: rules may remove the value, and only former keys may know the person.
 */
const namesIn = ({ observation, clean }: Cleaned, { erasures, keyOf }: Keys, noted: NotedKeys) => {
  if (!(noted.objects || noted.holdsLater)) return { party: [], all: [] };
  const { subjectsOf } = erasures.subjects;
  const stored = subjectsOf(clean.fields.toJSON());
  const party = new Set([...stored.party, ...subjectsOf(observation.fields.toJSON()).party]);
  for (const [former, token] of clean.aliases ?? [])
    for (const subject of [...party])
      if (subject.endsWith(`\0${token}`)) party.add(subject.slice(0, -token.length) + former);
  return { party: Array.from(party, keyOf), all: noted.holdsLater ? Array.from(stored.all, keyOf) : [] };
};

/** Subjects are listed before a text is sealed, where somebody was erased, or where nobody can list them afterwards. */
const keepTexts = async (
  tx: Transaction,
  records: readonly RejectedRecord[],
  { store, seal, noted }: Pick<GateRules, 'seal'> & { readonly store: Keys; readonly noted: NotedKeys },
): Promise<readonly StoredText[]> => {
  if (records.length === 0 || (seal === undefined && !noted.erased)) return records;
  const { erasures, index, keyOf } = store;
  const texts = records.map((record) => ({
    record,
    subjects: isSealed(record.body) ? undefined : [...erasures.subjects.subjectsInText(record.body.toString('utf8'))],
  }));
  const keys = noted.erased ? texts.flatMap(({ subjects = [] }) => subjects.map(keyOf)) : [];
  const known = await findKnown(tx, keys);
  return texts.flatMap(({ record, subjects }): StoredText[] => {
    const met = (subjects ?? []).flatMap((one) => known.get(keyOf(one)) ?? []);
    if (!met.some(({ isHeld }) => isHeld) && met.some(({ erased }) => erased)) return [];
    const kept = seal === undefined ? record : seal(record);
    const listed = subjects && { hashes: index.hashesOf(subjects), version: index.version };
    return [listed === undefined ? kept : { ...kept, subjects: listed }];
  });
};

/** Calls that are held by id now. Deletions use `lockFreeCalls` instead. */
export const findHeldCalls = async (db: Queryable, callIds: readonly string[], keyOf: Store['keyOf']) => {
  const known = await findKnown(db, callIds.map(keyOf));
  return new Set(callIds.filter((id) => known.get(keyOf(id))?.isHeld));
};

/** Calls that no hold keeps, by id or by their subjects. Excludes calls with unknown subjects. */
export const listFreeCalls = async (db: Queryable, callIds: readonly string[], { index, keyOf }: Keys) => {
  const noted = await readNoted(db);
  if (!noted.held) return callIds;
  const version = noted.holdsLater ? index.version : null;
  const held = await db.column`SELECT u.id FROM unnest(${callIds}::text[], ${callIds.map(keyOf)}::text[]) AS u(id, key)
       LEFT JOIN ledger_documents d ON d.call_id = u.id
      WHERE EXISTS (SELECT FROM held_keys k WHERE k.held_key = u.key)
         OR (${noted.holdsLater} AND d.call_id IS NOT NULL
             AND (d.subjects_version IS DISTINCT FROM ${version} OR ${isHeldSql('d.subjects', 'AND NOT k.of_call')}))`;
  const kept = new Set(held);
  return callIds.filter((id) => !kept.has(id));
};

/**
 * The same within a deleting transaction, before it locks other rows. A new hold waits for the end of the
 * transaction; a hold that a fold finds counts.
 * Run `listSubjects` first: calls with unknown subjects stay.
 */
export const lockFreeCalls = async (tx: Transaction, callIds: readonly string[], keys: Keys) => {
  if (!(await readNoted(tx, { joins: true })).held) return callIds;
  const free = await listFreeCalls(tx, callIds, keys);
  // A fold that is under way may make one of them held; their rows are ours when it has ended.
  await lockCalls(tx, free);
  return await listFreeCalls(tx, free, keys);
};
