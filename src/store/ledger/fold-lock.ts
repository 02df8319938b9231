/** Orders folds and the adding of keys that they have to know: of erased calls, of persons, of holds. */
import type { Database, Queryable } from '../../postgres/database.ts';

/**
 * Advisory lock: shared by folds, exclusive while keys are added. A transaction takes it before it locks rows that another of its kind
 * waits for: behind whoever adds keys, both would wait for each other until PostgreSQL notices, after a second, and lets one of them
 * pass. Whoever waits for all folds to end holds up those that begin: nothing that takes long shares it.
 */
const foldLock = 7_202_611_211;

/**
 * Advisory lock: shared by folds that keep texts, from before they compare them with what was erased, exclusive for nobody longer than it
 * takes to get it. They take it behind the lock of folds and rows of calls; who waits for them has neither.
 */
const textLock = 7_202_611_213;

const share = 'SELECT pg_advisory_xact_lock_shared($1)';

/** Which keys there are at all. In most stores there are none, and folds compare nothing with them. */
export interface NotedKeys {
  /** Of calls and persons that were erased. */
  readonly erased: boolean;
  /** Of persons who object to later calls. */
  readonly objects: boolean;
  /** Of what a legal hold names, a call or what names later calls too. */
  readonly held: boolean;
  readonly holdsLater: boolean;
}

const notedSql = `SELECT EXISTS (SELECT FROM erased_keys) AS erased, EXISTS (SELECT FROM erased_keys WHERE objects) AS objects,
       EXISTS (SELECT FROM held_keys) AS held, EXISTS (SELECT FROM held_keys WHERE NOT of_call) AS "holdsLater"`;

/** Of a fold: keys that are being added are known when it resolves, others are added after the transaction. */
export const joinFolds = async (tx: Queryable): Promise<NotedKeys> => {
  await tx.query(share, [foldLock]);
  // A statement sees what was committed before it began: one that waits for the lock would miss what it waited for.
  return await readNoted(tx);
};

export const readNoted = async (db: Queryable): Promise<NotedKeys> => {
  const [noted] = await db.query<NotedKeys>(notedSql);
  return noted ?? { erased: true, objects: true, held: true, holdsLater: true };
};

/** Of what adds keys: folds that run have ended when it resolves, others begin after the transaction. */
export const awaitFolds = async (tx: Queryable): Promise<void> => {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [foldLock]);
};

/** Of a transaction that is to keep texts or to take them away, before it compares them with what was erased. */
export const joinTextFolds = async (tx: Queryable): Promise<NotedKeys> => {
  await tx.query(share, [foldLock]);
  await tx.query(share, [textLock]);
  return await readNoted(tx);
};

/**
 * Texts that are being kept are to be found when it resolves; of those that come later, what was erased before it began is known. No
 * other fold is waited for.
 */
export const awaitTextFolds = (db: Database): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [textLock]);
  });
