/** Comparisons that failed and so left no verdict; kept until one of their window succeeds. */
import type { Range } from '../../../schemas/orchestration.ts';
import { subtract } from '../../lib/intervals.ts';
import { type Database, lockName, type Queryable } from '../../postgres/database.ts';
import { readMeta, writeMeta } from '../meta.ts';

/** A window in microseconds, and its error in words, without personal data. */
interface FailedComparison extends Range {
  readonly error: string;
}

const keyOf = (warehouse: string): string => `failed_comparisons:${warehouse}`;
/** The latest are kept. */
const mostFailed = 100;

/** Oldest first. */
export const readFailedComparisons = async (db: Queryable, warehouse: string): Promise<readonly FailedComparison[]> =>
  (await readMeta(db, keyOf(warehouse))) ?? [];

/** Notes how the comparison of a window ended. @param error undefined = with a verdict */
export const noteComparison = async (db: Database, warehouse: string, window: Range, error: string | undefined) => {
  if (error === undefined && (await readFailedComparisons(db, warehouse)).length === 0) return;
  await db.transaction(async (tx) => {
    await lockName(tx, keyOf(warehouse));
    const before = await readFailedComparisons(tx, warehouse);
    const others = before.flatMap((one) => subtract([one], [window]).map((left) => ({ ...left, error: one.error })));
    const failed = error === undefined ? [] : [{ from: window.from, to: window.to, error }];
    await writeMeta(tx, keyOf(warehouse), [...others, ...failed].slice(-mostFailed));
  });
};
