/** Comparisons that failed and so left no verdict; kept until one of their window succeeds. */
import type { Range } from '../../../schemas/orchestration.ts';
import { subtract } from '../../lib/intervals.ts';
import { type Database, lockName, type Queryable } from '../../postgres/database.ts';
import { readMeta, writeMeta } from '../meta.ts';

const keyOf = (warehouse: string): string => `failed_comparisons:${warehouse}`;
/** The latest are kept. */
const mostFailed = 100;

/** Windows in microseconds, oldest first, and the error of each in words, without personal data. */
export const readFailedComparisons = async (db: Queryable, warehouse: string) =>
  (await readMeta<readonly (Range & { readonly error: string })[]>(db, keyOf(warehouse))) ?? [];

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
