/** Orders folds and the adding of keys that every fold has to know: of erased calls, of persons, of holds. */
import type { Queryable } from '../../postgres/database.ts';

/** Advisory lock: shared by folds, exclusive while keys are added. */
const foldLock = 7_202_611_211;

/** Of a fold: keys that are being added are known when it resolves, others are added after the transaction. */
export const joinFolds = async (tx: Queryable): Promise<void> => {
  await tx.query('SELECT pg_advisory_xact_lock_shared($1)', [foldLock]);
};

/** Of what adds keys: folds that run have ended when it resolves, others begin after the transaction. */
export const awaitFolds = async (tx: Queryable): Promise<void> => {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [foldLock]);
};
