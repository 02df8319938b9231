/** Windows that could not be shown complete: they hold up nothing, and are read again ever less often. */
import type { Database, Queryable } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';

export interface RangeOnAxis {
  readonly axis: string;
  /** Microseconds, half-open. */
  readonly from: number;
  readonly to: number;
}

export interface FoundProblem extends RangeOnAxis {
  readonly problem: string;
}

/** First wait before a window is read again; it doubles with every vain attempt, up to a day. */
const firstWait = `interval '1 minute'`;

/**
 * Replaces the open problems within a range that was just read by those that this reading found, which inherit the
 * attempts of the ones that they overlap.
 */
export const replaceProblems = async (
  store: Database,
  range: RangeOnAxis,
  found: readonly FoundProblem[],
): Promise<void> =>
  await store.transaction(async (tx) => {
    const inside = `axis = $1 AND resolved_at IS NULL
                    AND window_from < ${toTimestamp('$3')} AND window_to > ${toTimestamp('$2')}`;
    const attempts: number[] = [];
    for (const { axis, from, to } of found) {
      const [row] = await tx.query<{ attempts: number | null }>(
        `SELECT max(attempts) AS attempts FROM window_problems WHERE ${inside}`,
        [axis, from, to],
      );
      attempts.push((row?.attempts ?? 0) + 1);
    }
    await tx.query(
      `UPDATE window_problems SET resolved_at = now()
        WHERE axis = $1 AND resolved_at IS NULL
          AND window_from >= ${toTimestamp('$2')} AND window_to <= ${toTimestamp('$3')}`,
      [range.axis, range.from, range.to],
    );
    for (const [index, { axis, from, to, problem }] of found.entries()) {
      await tx.query(
        `INSERT INTO window_problems AS p (axis, window_from, window_to, problem, attempts, next_at)
         VALUES ($1, ${toTimestamp('$2')}, ${toTimestamp('$3')}, $4, $5,
                 now() + least(interval '1 day', ${firstWait} * 2 ^ ($5::int - 1)))
         ON CONFLICT (axis, window_from, window_to) DO UPDATE
            SET problem = excluded.problem, seen_at = now(), resolved_at = NULL,
                attempts = excluded.attempts, next_at = excluded.next_at`,
        [axis, from, to, problem, Math.min(attempts[index] ?? 1, 30)],
      );
    }
  });

/** Open problems on every axis, oldest due first; `due` = it is time to read them again. */
export const listProblems = async (db: Queryable): Promise<(RangeOnAxis & { readonly due: boolean })[]> =>
  await db.query(
    `SELECT axis, ${toMicros('window_from')} AS from, ${toMicros('window_to')} AS to, next_at <= now() AS due
       FROM window_problems WHERE resolved_at IS NULL ORDER BY next_at`,
  );
