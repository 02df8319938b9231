/** The proven part of each business day, and what other marts say of it. */
import { defineMart, type MartDialect } from '../mart.ts';

const good = `('proven', 'healed')`;
/** Column of marts with rows a day. */
export const provenShare =
  'proven_share float Part of the day with a good verdict of this warehouse, 0 to 1, on the axis of sync_state.proven_axis. The latest verdict counts. rows_proven_share of completeness_daily has the part that was compared value by value.';
/** Column beside `provenShare`. */
export const rowsProvenShare =
  'rows_proven_share float Part of proven_share whose verdict compared every stored value (level rows). The rest was compared at level guards, which does not find a value that somebody altered in a row.';

/** Verdicts that still say something: of the present ledger, on the axis that is proven now, the latest of each window. */
const latestVerdicts = (d: MartDialect): string => `numbered AS (
  SELECT
    v.verdict_id,
    v.window_from,
    v.window_to,
    v.outcome,
    v.warehouse_level,
    v.compared_at,
    ROW_NUMBER() OVER (PARTITION BY v.window_from, v.window_to ORDER BY v.verdict_id DESC) AS nth
  FROM ${d.table('verdicts')} AS v
  JOIN ${d.table('sync_state')} AS s ON s.proven_axis = v.axis AND s.ledger_epoch = v.ledger_epoch
),
latest AS (
  SELECT * FROM numbered WHERE nth = 1
)`;

export const provenDays = defineMart({
  name: 'proven_days',
  intermediate: true,
  grain: 'business day with calls or verdicts',
  description: 'Proven part of each business day, from the verdicts of the UTC windows that touch the day.',
  key: ['business_day'],
  columns: `
business_day date Day in the business time zone.
day_start timestamp First instant of the day (UTC).
day_end timestamp First instant of the next day (UTC).
${provenShare}
${rowsProvenShare}
last_compared_at timestamp Time of the newest verdict that touches the day.`,
  query: (d, select) => `WITH ${latestVerdicts(d)},
spans AS (
  SELECT *, ${d.day('window_from')} AS first_day, ${d.day(d.just_before('window_to'))} AS last_day FROM latest
),
touching AS (
  SELECT
    business_day,
    verdict_id,
    outcome,
    warehouse_level,
    compared_at,
    GREATEST(window_from, ${d.day_start('business_day')}) AS part_from,
    LEAST(window_to, ${d.day_start(d.next_day('business_day'))}) AS part_to
  FROM spans
  ${d.each_day('first_day', 'last_day')}
),
named AS (
  SELECT business_day FROM touching
  UNION DISTINCT
  SELECT ${d.day('call_timestamp')} AS business_day FROM ${d.table('calls')} WHERE call_timestamp IS NOT NULL
),
days AS (
  SELECT business_day, ${d.day_start('business_day')} AS day_start, ${d.day_start(d.next_day('business_day'))} AS day_end
  FROM named
),
edges AS (
  SELECT business_day, part_from AS edge FROM touching
  UNION DISTINCT
  SELECT business_day, part_to AS edge FROM touching
),
pieces AS (
  SELECT
    business_day,
    edge AS piece_from,
    LEAD(edge) OVER (PARTITION BY business_day ORDER BY edge) AS piece_to
  FROM edges
),
judged AS (
  SELECT
    p.business_day,
    p.piece_from,
    p.piece_to,
    t.outcome,
    t.warehouse_level,
    ROW_NUMBER() OVER (PARTITION BY p.business_day, p.piece_from ORDER BY t.verdict_id DESC) AS nth
  FROM pieces AS p
  JOIN touching AS t
    ON t.business_day = p.business_day AND t.part_from <= p.piece_from AND t.part_to >= p.piece_to
),
proven AS (
  SELECT
    business_day,
    SUM(${d.seconds_between('piece_from', 'piece_to')}) AS seconds,
    SUM(CASE WHEN warehouse_level = 'rows' THEN ${d.seconds_between('piece_from', 'piece_to')} ELSE 0 END) AS rows_seconds
  FROM judged
  WHERE nth = 1 AND outcome IN ${good}
  GROUP BY business_day
),
compared AS (
  SELECT business_day, MAX(compared_at) AS last_compared_at FROM touching GROUP BY business_day
)
SELECT
  ${select(
    'y',
    {
      proven_share: `COALESCE(p.seconds, 0) / ${d.seconds_between('y.day_start', 'y.day_end')}`,
      rows_proven_share: `COALESCE(p.rows_seconds, 0) / ${d.seconds_between('y.day_start', 'y.day_end')}`,
    },
    { c: 'last_compared_at' },
  )}
FROM days AS y
LEFT JOIN proven AS p ON p.business_day = y.business_day
LEFT JOIN compared AS c ON c.business_day = y.business_day`,
});

/** Column of marts with rows a week. */
export const weekProof =
  'proven_share float Mean of the proven shares of the seven days of the week, 0 to 1. Days without calls and verdicts count as 0.';

/** The proven share of each week, as a relation. */
export const provenWeeks = (d: MartDialect): string =>
  `(SELECT ${d.week('business_day')} AS week, SUM(proven_share) / 7 AS proven_share FROM ${d.mart('proven_days')} GROUP BY 1)`;
