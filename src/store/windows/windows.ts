/** Read windows, problems of unreadable windows, and watermarks. Times are in microseconds. */
import type { Shown } from '../../../schemas/observation.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import { type Database, type Queryable, sql, toMicros, toTimestamp, unnest } from '../../postgres/database.ts';

type RangeOnAxis = Range & { readonly axis: string };

type ReadWindow = RangeOnAxis & { readonly calls: number; readonly shown: Shown; reason?: string; origin: string };

/**
 * Records a window as read; a later reading of the same window replaces the record. Problems of the window stay until `replaceProblems`.
 * @param window.reason why nothing was shown; only with `none`.
 */
export const recordWindow = async (db: Queryable, window: ReadWindow): Promise<void> => {
  await db.query`INSERT INTO windows (axis, window_from, window_to, calls, shown, reason, origin)
     VALUES (${window.axis}, ${toTimestamp(window.from)}, ${toTimestamp(window.to)}, ${window.calls}, ${window.shown},
             ${window.reason}, ${window.origin})
     ON CONFLICT (axis, window_from, window_to) DO UPDATE
        SET calls = excluded.calls, shown = excluded.shown, reason = excluded.reason, origin = excluded.origin, read_at = now()`;
};

/** Windows that were not shown complete and have not been since, the latest first; 100 at most. */
export const openProblems = async (db: Queryable): Promise<WindowProblem[]> =>
  await db.query<WindowProblem>`SELECT axis, ${toMicros('window_from')} AS from, ${toMicros('window_to')} AS to, problem
       FROM window_problems WHERE resolved_at IS NULL ORDER BY seen_at DESC LIMIT 100`;

export type OpenProblem = Awaited<ReturnType<typeof problemsWithin>>[number];

/** The open problems of windows that overlap a range, on every axis, in order; 100 at most. */
export const problemsWithin = (db: Queryable, { from, to }: Range) =>
  db.query<WindowProblem & { readonly seenAt: number; readonly attempts: number; readonly nextAt: number }>`
      SELECT axis, ${toMicros('window_from')} AS from, ${toMicros('window_to')} AS to, problem, attempts,
             ${toMicros('seen_at')} AS "seenAt", ${toMicros('next_at')} AS "nextAt" FROM window_problems
       WHERE resolved_at IS NULL AND window_to > ${toTimestamp(from)} AND window_from < ${toTimestamp(to)} ORDER BY window_from LIMIT 100`;

/** Calls of the windows that were read on an axis and overlap a range; those of two windows count twice. */
export const countReadCalls = (db: Queryable, { axis, from, to }: RangeOnAxis): Promise<number> =>
  db.value`SELECT coalesce(sum(calls), 0) FROM windows
            WHERE axis = ${axis} AND window_to > ${toTimestamp(from)} AND window_from < ${toTimestamp(to)}`;

/** Ranges that were read on any axis and overlap the given one. */
export const listReadRanges = async (db: Queryable, range: { readonly from: number; readonly to: number }) =>
  await db.query<{ from: number; to: number }>`SELECT ${toMicros('lower(r)')} AS from, ${toMicros('upper(r)')} AS to
       FROM unnest((SELECT range_agg(tstzrange(window_from, window_to)) FROM windows
                     WHERE window_to > ${toTimestamp(range.from)} AND window_from < ${toTimestamp(range.to)})) AS r`;

/** All ranges that were read on other axes, and those on this one that overlap the given one. An axis may be one of an earlier configuration. */
export const listReadByAxis = async (db: Queryable, { axis, from, to }: RangeOnAxis) =>
  await db.query<RangeOnAxis>`SELECT axis, ${toMicros('lower(r)')} AS from, ${toMicros('upper(r)')} AS to
       FROM (SELECT axis, range_agg(tstzrange(window_from, window_to)) AS ranges FROM windows
              WHERE axis <> ${axis} OR (window_to > ${toTimestamp(from)} AND window_from < ${toTimestamp(to)})
              GROUP BY axis) AS one, unnest(ranges) AS r`;

/**
 * Parts of [from, to) on the axis without a window that was read and shown complete, in order. With `settled`, a
 * reading counts only if it came at least `overlap` after its range, because calls may appear late. `now` is the
 * service's clock; times of readings are moved to it.
 */
export const uncoveredRanges = async (
  db: Queryable,
  range: RangeOnAxis,
  settled?: { readonly overlap: number; readonly now: number },
): Promise<Range[]> => {
  const end =
    settled === undefined
      ? sql`window_to`
      : sql`least(window_to, read_at + (${toTimestamp(settled.now)} - now()) - ${settled.overlap} * interval '1 microsecond')`;
  const [from, to] = [toTimestamp(range.from), toTimestamp(range.to)];
  return await db.query`SELECT ${toMicros('lower(r)')} AS from, ${toMicros('upper(r)')} AS to
       FROM unnest(tstzmultirange(tstzrange(${from}, ${to})) - coalesce(
              (SELECT range_agg(tstzrange(window_from, ${end})) FROM windows
                WHERE axis = ${range.axis} AND shown <> 'none' AND window_from < ${end}
                  AND window_to > ${from} AND window_from < ${to}), '{}')) AS r`;
};

/**
 * Moves a watermark forward to the end of the contiguous windows that are complete or have a recorded problem.
 * `begin` sets a missing watermark. On a change of axis, the watermark restarts at the earlier of both.
 * Returns it with its start; undefined without watermark and `begin`.
 */
export const advanceWatermark = async (db: Queryable, begin?: { readonly axis: string; readonly start: number }) => {
  if (begin !== undefined)
    await db.query`INSERT INTO watermarks (name, axis, watermark, started_from)
       VALUES ('sync', ${begin.axis}, ${toTimestamp(begin.start)}, ${toTimestamp(begin.start)})
       ON CONFLICT (name) DO UPDATE
          SET axis = excluded.axis, watermark = least(watermarks.watermark, excluded.watermark),
              started_from = least(watermarks.watermark, excluded.watermark)
        WHERE watermarks.axis <> excluded.axis`;
  const [moved] = await db.query<{ watermark: number; startedFrom: number }>`
      UPDATE watermarks w SET updated_at = now(), watermark = coalesce(
        (SELECT upper(r) FROM unnest((SELECT range_agg(tstzrange(window_from, window_to)) FROM (
                   SELECT axis, window_from, window_to FROM windows WHERE shown <> 'none'
                   UNION ALL
                   SELECT axis, window_from, window_to FROM window_problems WHERE resolved_at IS NULL) AS passed
                 WHERE axis = w.axis AND window_to >= w.watermark)) AS r
          WHERE lower(r) <= w.watermark AND upper(r) > w.watermark), w.watermark)
      WHERE w.name = 'sync' RETURNING ${toMicros('w.watermark')} AS watermark, ${toMicros('w.started_from')} AS "startedFrom"`;
  return moved;
};

/**
 * Joins windows that were read more than `olderThanHours` ago where they touch or overlap, so that the table stays
 * small. A window within others counts for no calls. The same range shown complete in two ways stays once.
 * Returns by how many.
 */
export const compactWindows = (db: Queryable, olderThanHours: number): Promise<number> =>
  db.value`WITH old AS ( -- with the end that the windows before it have reached
       SELECT *, max(window_to) OVER (PARTITION BY axis, shown ORDER BY window_from, window_to
                                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
         FROM windows WHERE read_at < now() - make_interval(hours => ${olderThanHours})),
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
     SELECT (SELECT count(*) FROM gone) - (SELECT count(*) FROM kept) AS fewer`;

/** Start of the earliest window that was read, on any axis, in microseconds. */
export const firstReadInstant = async (db: Queryable): Promise<number | undefined> =>
  (await db.value<number | null>`SELECT ${toMicros('min(window_from)')} AS first FROM windows`) ?? undefined;

type WindowProblem = RangeOnAxis & { readonly problem: string };

/** First wait before a window is read again; it doubles with every vain attempt, up to a day. */
const firstWait = sql`interval '1 minute'`;

/**
 * Replaces the open problems within a range that was just read. New problems inherit the attempts of those that they
 * overlap.
 */
export const replaceProblems = async (store: Database, range: RangeOnAxis, found: readonly WindowProblem[]) =>
  await store.transaction(async (tx) => {
    await tx.query`INSERT INTO window_problems (axis, window_from, window_to, problem, attempts, next_at)
       SELECT axis, window_from, window_to, problem, attempts, now() + least(interval '1 day', ${firstWait} * 2 ^ (attempts - 1))
         FROM (SELECT u.axis, u.window_from, u.window_to, max(u.problem) AS problem, least(30, 1 + coalesce(max(p.attempts), 0)) AS attempts
                 FROM (SELECT axis, ${toTimestamp('"from"')}, ${toTimestamp('"to"')}, problem
                         FROM ${unnest(found, { axis: 'text', from: 'float8', to: 'float8', problem: 'text' })}
                      ) AS u (axis, window_from, window_to, problem)
                 LEFT JOIN window_problems p ON p.axis = u.axis AND p.resolved_at IS NULL
                                            AND p.window_from < u.window_to AND p.window_to > u.window_from
                GROUP BY 1, 2, 3) AS found
       ON CONFLICT (axis, window_from, window_to) DO UPDATE
          SET problem = excluded.problem, seen_at = now(), resolved_at = NULL,
              attempts = excluded.attempts, next_at = excluded.next_at`;
    await tx.query`UPDATE window_problems SET resolved_at = now()
        WHERE axis = ${range.axis} AND resolved_at IS NULL AND seen_at < now()
          AND window_from >= ${toTimestamp(range.from)} AND window_to <= ${toTimestamp(range.to)}`;
  });

/** Open problems on every axis, oldest due first; `due` = it is time to read them again. */
export const listProblems = async (db: Queryable): Promise<(RangeOnAxis & { readonly due: boolean })[]> =>
  await db.query`SELECT axis, ${toMicros('window_from')} AS from, ${toMicros('window_to')} AS to, next_at <= now() AS due
       FROM window_problems WHERE resolved_at IS NULL ORDER BY next_at`;

/**
 * SQL: up to where everything is read that was to be, of a row `w` of `watermarks`. The watermark itself passes over windows with open
 * problems, which are read again later.
 */
export const readToSql = `least(w.watermark, (SELECT min(greatest(window_from, w.started_from)) FROM window_problems p
   WHERE p.axis = w.axis AND resolved_at IS NULL AND window_to > w.started_from))`;

/** The newest calls are read up to an instant of the service's clock. */
export const recordSeen = (db: Queryable, to: number): Promise<unknown> =>
  db.query`UPDATE watermarks SET seen_to = greatest(seen_to, ${toTimestamp(to)}), last_error = NULL, failed_at = NULL WHERE name = 'sync'`;

/** @param code of an error, no data. */
export const recordSyncError = (db: Queryable, code: string): Promise<unknown> =>
  db.query`UPDATE watermarks SET last_error = ${code}, failed_at = now() WHERE name = 'sync'`;
