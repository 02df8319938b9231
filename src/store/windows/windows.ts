/** Windows that are read, problems of windows that could not be, and watermarks. Times in microseconds. */

import type { Shown } from '../../../schemas/observation.ts';
import type { Queryable } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import type { RangeOnAxis } from './problems.ts';

export interface ReadWindow {
  readonly axis: string;
  readonly from: number;
  readonly to: number;
  readonly calls: number;
  readonly shown: Shown;
  /** Why nothing was shown; only with `none`. */
  readonly reason?: string;
  readonly origin: string;
}

/** Records a window as read; a later reading of the same window replaces the record and settles its problem. */
export const recordWindow = async (db: Queryable, window: ReadWindow): Promise<void> => {
  await db.query(
    `INSERT INTO windows (axis, window_from, window_to, calls, shown, reason, origin)
     VALUES ($1, ${toTimestamp('$2')}, ${toTimestamp('$3')}, $4, $5, $6, $7)
     ON CONFLICT (axis, window_from, window_to) DO UPDATE
        SET calls = excluded.calls, shown = excluded.shown, reason = excluded.reason, origin = excluded.origin, read_at = now()`,
    [window.axis, window.from, window.to, window.calls, window.shown, window.reason ?? null, window.origin],
  );
  await db.query(
    `UPDATE window_problems SET resolved_at = now()
      WHERE axis = $1 AND window_from >= ${toTimestamp('$2')} AND window_to <= ${toTimestamp('$3')} AND resolved_at IS NULL`,
    [window.axis, window.from, window.to],
  );
};

export interface WindowProblem {
  readonly axis: string;
  readonly from: number;
  readonly to: number;
  readonly problem: string;
}

/** Records why a window could not be read completely; it stays visible in status until a reading settles it. */
export const recordProblem = async (db: Queryable, problem: WindowProblem): Promise<void> => {
  await db.query(
    `INSERT INTO window_problems (axis, window_from, window_to, problem)
     VALUES ($1, ${toTimestamp('$2')}, ${toTimestamp('$3')}, $4)
     ON CONFLICT (axis, window_from, window_to) DO UPDATE SET problem = excluded.problem, seen_at = now(), resolved_at = NULL`,
    [problem.axis, problem.from, problem.to, problem.problem],
  );
};

/** Windows that were not shown complete and have not been since, the latest first; 100 at most. */
export const openProblems = async (db: Queryable): Promise<WindowProblem[]> =>
  await db.query<WindowProblem>(
    `SELECT axis, ${toMicros('window_from')} AS from, ${toMicros('window_to')} AS to, problem
       FROM window_problems WHERE resolved_at IS NULL ORDER BY seen_at DESC LIMIT 100`,
  );

/** Windows that were read, on every axis. Reads an index entry a window. */
export const countWindows = async (db: Queryable): Promise<number> => {
  const [row] = await db.query<{ n: number }>('SELECT count(*) AS n FROM windows');
  return row?.n ?? 0;
};

/**
 * Parts of [from, to) on the axis that no window covers which was read and shown complete, in order. With `settled`, only
 * readings count that came at least `overlap` after what they read: calls may have appeared there since. `now` is the
 * service's present: times of readings are the store's, and are moved to the service's clock.
 */
export const uncoveredRanges = async (
  db: Queryable,
  range: RangeOnAxis,
  settled?: { readonly overlap: number; readonly now: number },
): Promise<{ from: number; to: number }[]> => {
  const end =
    settled === undefined
      ? 'window_to'
      : `least(window_to, read_at + (${toTimestamp('$5')} - now()) - $4 * interval '1 microsecond')`;
  return await db.query<{ from: number; to: number }>(
    `SELECT ${toMicros('lower(r)')} AS from, ${toMicros('upper(r)')} AS to
       FROM unnest(tstzmultirange(tstzrange(${toTimestamp('$2')}, ${toTimestamp('$3')})) - coalesce(
              (SELECT range_agg(tstzrange(window_from, ${end})) FROM windows
                WHERE axis = $1 AND shown <> 'none' AND window_from < ${end}
                  AND window_to > ${toTimestamp('$2')} AND window_from < ${toTimestamp('$3')}), '{}')) AS r`,
    [range.axis, range.from, range.to, ...(settled === undefined ? [] : [settled.overlap, settled.now])],
  );
};

/**
 * Moves a watermark to the end of the contiguous prefix of windows that were shown complete or have a recorded problem,
 * which is tried again later; never back. With `start` it is set where there is none yet; where it is on another axis,
 * whose windows say nothing about this one, it begins again at the earlier of both.
 * Returns it; undefined when none was set and `start` is not given.
 */
export const advanceWatermark = async (
  db: Queryable,
  input: { readonly name: string; readonly axis: string; readonly start?: number },
): Promise<number | undefined> => {
  if (input.start !== undefined) {
    await db.query(
      `INSERT INTO watermarks (name, axis, watermark, started_from)
       VALUES ($1, $2, ${toTimestamp('$3')}, ${toTimestamp('$3')})
       ON CONFLICT (name) DO UPDATE
          SET axis = excluded.axis, watermark = least(watermarks.watermark, excluded.watermark),
              started_from = least(watermarks.watermark, excluded.watermark)
        WHERE watermarks.axis <> excluded.axis`,
      [input.name, input.axis, input.start],
    );
  }
  const [row] = await db.query<{ watermark: number }>(
    `UPDATE watermarks w SET updated_at = now(), watermark = coalesce(
        (SELECT upper(r) FROM unnest((SELECT range_agg(tstzrange(window_from, window_to)) FROM (
                   SELECT axis, window_from, window_to FROM windows WHERE shown <> 'none'
                   UNION ALL
                   SELECT axis, window_from, window_to FROM window_problems WHERE resolved_at IS NULL) AS passed
                 WHERE axis = w.axis AND window_to >= w.watermark)) AS r
          WHERE lower(r) <= w.watermark AND upper(r) > w.watermark), w.watermark)
      WHERE w.name = $1 RETURNING ${toMicros('w.watermark')} AS watermark`,
    [input.name],
  );
  return row?.watermark;
};

/**
 * Joins windows that were read more than `olderThanHours` ago where they touch or overlap, so that the table stays
 * small. A window within others counts for no calls. The same range shown complete in two ways stays once.
 * Returns by how many.
 */
export const compactWindows = async (db: Queryable, olderThanHours: number): Promise<number> => {
  const rows = await db.query<{ fewer: number }>(
    `WITH old AS ( -- with the end that the windows before it have reached
       SELECT *, max(window_to) OVER (PARTITION BY axis, shown ORDER BY window_from, window_to
                                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
         FROM windows WHERE read_at < now() - make_interval(hours => $1)),
     chained AS ( -- a chain begins where there is a gap before a window
       SELECT *, count(*) FILTER (WHERE reached IS NULL OR reached < window_from)
                   OVER (PARTITION BY axis, shown ORDER BY window_from, window_to) AS chain FROM old),
     joined AS ( -- one window for each chain of several; a window within others adds no calls
       SELECT axis, shown, chain, max(reason) AS reason, min(window_from) AS window_from, max(window_to) AS window_to, min(read_at) AS read_at,
              sum(CASE WHEN reached IS NULL OR reached < window_to THEN calls ELSE 0 END) AS calls, count(*) AS parts
         FROM chained GROUP BY axis, shown, chain HAVING count(*) > 1),
     gone AS ( -- the windows of a chain, but one with the range of the whole
       DELETE FROM windows w USING chained c JOIN joined j USING (axis, shown, chain)
        WHERE w.axis = c.axis AND w.window_from = c.window_from AND w.window_to = c.window_to
          AND (c.window_from, c.window_to) <> (j.window_from, j.window_to)
       RETURNING 1),
     kept AS ( -- two chains of one range stay as one: the one that was shown complete, else the one of more calls
       INSERT INTO windows (axis, window_from, window_to, calls, shown, reason, origin, read_at)
       SELECT DISTINCT ON (axis, window_from, window_to) axis, window_from, window_to, calls, shown, reason, 'compacted', read_at
         FROM joined ORDER BY axis, window_from, window_to, shown = 'none', calls DESC
       ON CONFLICT (axis, window_from, window_to) DO UPDATE
          SET calls = greatest(windows.calls, excluded.calls), origin = excluded.origin,
              shown = CASE windows.shown WHEN 'none' THEN excluded.shown ELSE windows.shown END,
              reason = CASE windows.shown WHEN 'none' THEN excluded.reason ELSE windows.reason END
       RETURNING 1)
     SELECT (SELECT count(*) FROM gone) - (SELECT count(*) FROM kept) AS fewer`,
    [olderThanHours],
  );
  return rows[0]?.fewer ?? 0;
};

/** Start of the earliest window that was read, on any axis, in microseconds. */
export const firstReadInstant = async (db: Queryable): Promise<number | undefined> => {
  const [row] = await db.query<{ first: number | null }>(
    `SELECT ${toMicros('min(window_from)')} AS first FROM windows`,
  );
  return row?.first ?? undefined;
};
