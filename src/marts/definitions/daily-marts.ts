/** Marts with rows per day or week. Each has the proven share of the day. */
import { defineMart, type Mart, type MartDialect, openAll } from '../mart.ts';

const good = `('proven', 'healed')`;
const provenShare =
  'proven_share float Part of the day with a good verdict of this warehouse, 0 to 1, on the axis of sync_state.proven_axis. The latest verdict counts. rows_proven_share of completeness_daily has the part that was compared value by value.';
const rowsProvenShare =
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

const provenDays = defineMart({
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
  SELECT DISTINCT ${d.day('window_from')} AS first_day, ${d.day(d.just_before('window_to'))} AS last_day FROM latest
  UNION DISTINCT
  SELECT DISTINCT ${d.day('call_timestamp')} AS first_day, ${d.day('call_timestamp')} AS last_day
  FROM ${d.table('calls')}
  WHERE call_timestamp IS NOT NULL
),
named AS (
  ${d.days_of_spans('spans', 'first_day', 'last_day')}
),
days AS (
  SELECT business_day, ${d.day_start('business_day')} AS day_start, ${d.day_start(d.next_day('business_day'))} AS day_end
  FROM named
),
touching AS (
  SELECT
    y.business_day,
    v.verdict_id,
    v.outcome,
    v.warehouse_level,
    v.compared_at,
    GREATEST(v.window_from, y.day_start) AS part_from,
    LEAST(v.window_to, y.day_end) AS part_to
  FROM days AS y
  JOIN latest AS v ON v.window_from < y.day_end AND v.window_to > y.day_start
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

const figures = `
calls int Number of calls.
qualified_calls int Calls with status qualified.
void_calls int Calls with status void.
duration_seconds float Duration of all calls; null while its unit is unknown.
mean_duration_seconds float Mean duration; null while its unit is unknown.
calls_with_talk int Calls with figures of call_talk.
mean_agent_talk_share float Mean share of the agent in the talk time, 0 to 1; null while side or units are unknown.
mean_silence_share float Mean share of silence, 0 to 1; null while units are unknown.
words_per_minute float Words per minute of talk, over all calls; null while units are unknown.
${provenShare}`;

/** The figures of calls by day and one of their columns. */
const byDayAnd = (column: string, meaning: string): Mart =>
  defineMart({
    name: `${column}_daily`,
    grain: `business day × ${column}`,
    description: `Calls, durations and talk by business day and ${column}.`,
    key: ['business_day', column],
    keyMayBeNull: true,
    columns: openAll(`
business_day date Day in the business time zone; null for calls without a time.
${column} text ${meaning}
${figures.trim()}`),
    query: (d) => `SELECT
  c.business_day,
  c.${column},
  COUNT(*) AS calls,
  SUM(CASE WHEN c.status = 'qualified' THEN 1 ELSE 0 END) AS qualified_calls,
  SUM(CASE WHEN c.status = 'void' THEN 1 ELSE 0 END) AS void_calls,
  SUM(c.duration_seconds) AS duration_seconds,
  AVG(c.duration_seconds) AS mean_duration_seconds,
  SUM(CASE WHEN t.talk_status = 'ok' THEN 1 ELSE 0 END) AS calls_with_talk,
  AVG(t.agent_talk_share) AS mean_agent_talk_share,
  AVG(t.silence_share) AS mean_silence_share,
  SUM(CASE WHEN t.talk_status = 'ok' THEN t.words END)
    / NULLIF(SUM(t.speech_seconds + t.overlap_seconds), 0) * 60 AS words_per_minute,
  COALESCE(MAX(p.proven_share), 0) AS proven_share
FROM ${d.mart('calls_wide')} AS c
LEFT JOIN ${d.mart('call_talk')} AS t ON t.call_id = c.call_id
LEFT JOIN ${d.mart('proven_days')} AS p ON p.business_day = c.business_day
GROUP BY c.business_day, c.${column}`,
  });

const agentDaily = byDayAnd('agent', 'metadata.Agent; null if the service sent none.');
const campaignDaily = byDayAnd('campaign', 'Campaign identifier; null if the service sent none.');

const tagDaily = defineMart({
  name: 'tag_daily',
  grain: 'business day × campaign × tag',
  description: 'Number of calls with each tag, by business day and campaign.',
  key: ['business_day', 'campaign', 'tag_id', 'tag_name'],
  keyMayBeNull: true,
  columns: `
+business_day date Day in the business time zone; null for calls without a time.
calls.campaign
+tag_id text Identifier of the tag.
+tag_name text Name of the tag.
+calls int Calls that have the tag.
+calls_true int Calls in which the value of the tag is true; null if the value never is a boolean.
+mean_confidence float Mean confidence.
+${provenShare}`,
  query: (d) => `SELECT
  t.business_day,
  t.campaign,
  t.tag_id,
  t.tag_name,
  COUNT(DISTINCT t.call_id) AS calls,
  CASE WHEN COUNT(t.is_true) > 0 THEN COUNT(DISTINCT CASE WHEN t.is_true THEN t.call_id END) END AS calls_true,
  AVG(t.confidence) AS mean_confidence,
  COALESCE(MAX(p.proven_share), 0) AS proven_share
FROM ${d.mart('call_tags')} AS t
LEFT JOIN ${d.mart('proven_days')} AS p ON p.business_day = t.business_day
GROUP BY t.business_day, t.campaign, t.tag_id, t.tag_name`,
});

const completenessDaily = defineMart({
  name: 'completeness_daily',
  grain: 'business day × warehouse',
  description: 'Number of calls a day in this warehouse, and the proven share of the day.',
  key: ['business_day', 'warehouse'],
  columns: `
+business_day date Day in the business time zone.
+warehouse text Name of this warehouse.
+calls int Calls of the day in this warehouse.
+deleted_calls int Calls of the day that the service no longer lists.
+${provenShare}
+${rowsProvenShare}
+completeness text proven, partly proven, or not proven, at any warehouse level; rows_proven_share has the part at level rows.
+last_compared_at timestamp Time of the newest verdict that touches the day.
+proven_through timestamp Time up to which every read window is proven, without a gap (sync_state).
+heartbeat_at timestamp Time of the last update of sync_state.`,
  query: (d, select) => `WITH counted AS (
  SELECT
    business_day,
    COUNT(*) AS calls,
    SUM(CASE WHEN source_deleted_at IS NULL THEN 0 ELSE 1 END) AS deleted_calls
  FROM ${d.mart('calls_wide')}
  WHERE business_day IS NOT NULL
  GROUP BY business_day
)
SELECT
  ${select(
    'p',
    {
      calls: 'COALESCE(n.calls, 0)',
      deleted_calls: 'COALESCE(n.deleted_calls, 0)',
      completeness: `CASE
    WHEN p.proven_share >= 1 THEN 'proven'
    WHEN p.proven_share > 0 THEN 'partly proven'
    ELSE 'not proven'
  END`,
    },
    { s: 'warehouse proven_through heartbeat_at' },
  )}
FROM ${d.mart('proven_days')} AS p
CROSS JOIN ${d.table('sync_state')} AS s
LEFT JOIN counted AS n ON n.business_day = p.business_day`,
});

const deliveryDaily = defineMart({
  name: 'delivery_daily',
  grain: 'business day × webhook',
  description: 'Webhook deliveries by the business day of their arrival.',
  key: ['business_day', 'hook_id'],
  keyMayBeNull: true,
  columns: `
+business_day date Day of arrival in the business time zone.
+hook_id text Identifier of the webhook; null if the service sent none.
+deliveries int Number of deliveries.
+accepted int Deliveries that were folded.
+duplicates int Deliveries that repeat an earlier id.
+repeats int Deliveries that repeat an earlier body under another id.
+quarantined int Deliveries that callsync cannot read.
+rejected int Deliveries that the receiver refused.
+calls int Calls in the deliveries.`,
  query: (d) => `SELECT
  ${d.day('v.received_at')} AS business_day,
  v.hook_id,
  COUNT(*) AS deliveries,
  SUM(CASE WHEN v.outcome = 'accepted' THEN 1 ELSE 0 END) AS accepted,
  SUM(CASE WHEN v.outcome = 'duplicate' THEN 1 ELSE 0 END) AS duplicates,
  SUM(CASE WHEN v.outcome = 'repeat' THEN 1 ELSE 0 END) AS repeats,
  SUM(CASE WHEN v.outcome = 'quarantined' THEN 1 ELSE 0 END) AS quarantined,
  SUM(CASE WHEN v.outcome = 'rejected' THEN 1 ELSE 0 END) AS rejected,
  COUNT(DISTINCT v.call_id) AS calls
FROM ${d.table('deliveries')} AS v
GROUP BY 1, v.hook_id`,
});

const talkWeekly = defineMart({
  name: 'talk_weekly',
  grain: 'week × campaign',
  description:
    'Trends of silence and talk-over. Means over the calls of a week whose talk_status is ok, and their change since the last earlier week with such calls.',
  key: ['week', 'campaign'],
  keyMayBeNull: true,
  columns: openAll(`
week date Monday of the week in the business time zone.
campaign text Campaign identifier; null if the service sent none.
calls int Calls with figures of talk.
silence_share float Mean share of silence, 0 to 1.
silence_change float silence_share minus that of the earlier week; null in the first week.
overlap_share float Mean share of the speech in which both sides talk, 0 to 1.
overlap_change float overlap_share minus that of the earlier week; null in the first week.
interruptions_per_call float Mean number of interruptions.`),
  query: (d, select) => `WITH weekly AS (
  SELECT
    ${d.week('business_day')} AS week,
    campaign,
    COUNT(*) AS calls,
    AVG(silence_share) AS silence_share,
    AVG(overlap_seconds / NULLIF(speech_seconds, 0)) AS overlap_share,
    AVG(${d.float('interruptions')}) AS interruptions_per_call
  FROM ${d.mart('call_talk')}
  WHERE talk_status = 'ok' AND business_day IS NOT NULL
  GROUP BY 1, campaign
)
SELECT
  ${select('', {
    silence_change: 'silence_share - LAG(silence_share) OVER (PARTITION BY campaign ORDER BY week)',
    overlap_change: 'overlap_share - LAG(overlap_share) OVER (PARTITION BY campaign ORDER BY week)',
  })}
FROM weekly`,
});

const newWords = defineMart({
  name: 'new_words',
  grain: 'week × word',
  description:
    'Words of a week that no call of the four weeks before has, in lower case. If weeks_before is below 4, many words are new only because earlier transcripts are missing.',
  key: ['week', 'word'],
  columns: `
week date Monday of the week in the business time zone.
word text The word in lower case.
calls int Calls of the week that have the word.
uses int Number of times that the word is said.
weeks_before int Number of the four weeks before that have transcripts, 0 to 4.`,
  query: (d) => `WITH weekly AS (
  SELECT
    ${d.week('c.business_day')} AS week,
    LOWER(w.value) AS word,
    COUNT(DISTINCT w.call_id) AS calls,
    COUNT(*) AS uses
  FROM ${d.table('words')} AS w
  JOIN ${d.mart('calls_wide')} AS c ON c.call_id = w.call_id
  WHERE w.value IS NOT NULL AND w.value <> '' AND c.business_day IS NOT NULL
  GROUP BY 1, 2
),
placed AS (
  SELECT *, LAG(week) OVER (PARTITION BY word ORDER BY week) AS last_week FROM weekly
),
weeks AS (
  SELECT DISTINCT week FROM weekly
),
earlier AS (
  SELECT a.week, COUNT(b.week) AS weeks_before
  FROM weeks AS a
  LEFT JOIN weeks AS b ON b.week < a.week AND ${d.days_between('b.week', 'a.week')} <= 28
  GROUP BY a.week
)
SELECT p.week, p.word, p.calls, p.uses, e.weeks_before
FROM placed AS p
JOIN earlier AS e ON e.week = p.week
WHERE p.last_week IS NULL OR ${d.days_between('p.last_week', 'p.week')} > 28`,
});

const deliveryLatency = defineMart({
  name: 'delivery_latency',
  grain: 'webhook delivery that changed its call',
  description:
    'Time of each delivery from its arrival until this warehouse first had its changes. Later loads and restores do not change the time. A delivery that changed nothing has no row.',
  key: ['arrival_id'],
  columns: openAll(`
deliveries.arrival_id
deliveries.received_at
business_day date Day of arrival in the business time zone.
deliveries.hook_id
deliveries.call_id
visible_at timestamp Time at which this warehouse first had the changes of the delivery; null until then.
seconds_to_visible float Seconds from received_at to visible_at.`),
  query: (d, select) => `WITH timed AS (
  SELECT
    v.arrival_id,
    v.received_at,
    v.hook_id,
    v.call_id,
    COALESCE(v.visible_at, MIN(h.loaded_at)) AS visible_at
  FROM ${d.table('deliveries')} AS v
  LEFT JOIN ${d.table('changes')} AS h
    ON h.call_id = v.call_id AND h.revision >= v.revision AND h.loaded_at >= v.received_at
  WHERE v.revision IS NOT NULL
  GROUP BY v.arrival_id, v.received_at, v.hook_id, v.call_id, v.visible_at
)
SELECT
  ${select('', { business_day: d.day('received_at'), seconds_to_visible: d.seconds_between('received_at', 'visible_at') })}
FROM timed`,
});

export const dailyMarts: readonly Mart[] = [
  provenDays,
  agentDaily,
  campaignDaily,
  tagDaily,
  completenessDaily,
  deliveryDaily,
  deliveryLatency,
  talkWeekly,
  newWords,
];
