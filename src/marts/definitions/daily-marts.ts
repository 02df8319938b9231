/** Marts with rows per day or week. Each has the proven share beside its figures. */
import { defineMart, type Mart, openAll } from '../mart.ts';
import { provenShare, provenWeeks, rowsProvenShare, weekProof } from './proven-days.ts';

const campaignLine = 'text Campaign identifier; null if the service sent none.';
const agentLine = 'text metadata.Agent; null if the service sent none.';
const dayLine = 'business_day date Day in the business time zone; null for calls without a time.';
const weekLine = 'week date Monday of the week in the business time zone; null for calls without a time.';

const figures = `
calls int Number of calls.
qualified_calls int Calls with status qualified.
void_calls int Calls with status void.
duration_seconds float Duration of all calls; null while its unit is unknown.
mean_duration_seconds float Mean duration (handle time); null while its unit is unknown.
calls_with_talk int Calls with figures of call_talk.
talk_status text ok, or a reason why no call has figures of talk.
agent_talk_seconds float Talk time of the agent in all calls; null while side or units are unknown.
mean_agent_talk_share float Mean share of the agent in the talk time, 0 to 1; null while side or units are unknown.
mean_silence_share float Mean share of silence, 0 to 1; null while units are unknown.
mean_overlap_share float Mean share of the speech in which both sides talk, 0 to 1; null while units are unknown.
mean_interruptions float Mean number of interruptions; null while units are unknown.
words_per_minute float Words per minute of talk, over all calls; null while units are unknown.`;

/** The figures of calls by day or week, and by some of their columns: their types and meanings. */
const figuresBy = (name: string, period: 'business_day' | 'week', by: Readonly<Record<string, string>>): Mart => {
  const [unit, line, proof] =
    period === 'week' ? ['week', weekLine, weekProof] : ['business day', dayLine, provenShare];
  const names = Object.keys(by);
  return defineMart({
    name,
    grain: [unit, ...names].join(' × ').replace('business_hour', 'hour'),
    description: `Calls, durations and talk by ${[unit, ...names].join(', ').replace('business_hour', 'hour')}.`,
    key: [period, ...names],
    keyMayBeNull: true,
    columns: openAll([line, ...names.map((one) => `${one} ${by[one]}`), figures.trim(), proof].join('\n')),
    query: (d) => {
      const start = period === 'week' ? d.week('c.business_day') : 'c.business_day';
      return `SELECT
  ${[`${start} AS ${period}`, ...names.map((one) => `c.${one}`)].join(',\n  ')},
  COUNT(*) AS calls,
  SUM(CASE WHEN c.status = 'qualified' THEN 1 ELSE 0 END) AS qualified_calls,
  SUM(CASE WHEN c.status = 'void' THEN 1 ELSE 0 END) AS void_calls,
  SUM(c.duration_seconds) AS duration_seconds,
  AVG(c.duration_seconds) AS mean_duration_seconds,
  SUM(CASE WHEN t.talk_status = 'ok' THEN 1 ELSE 0 END) AS calls_with_talk,
  COALESCE(MAX(CASE WHEN t.talk_status = 'ok' THEN 'ok' END), MAX(t.talk_status)) AS talk_status,
  SUM(t.talk_agent_seconds) AS agent_talk_seconds,
  AVG(t.agent_talk_share) AS mean_agent_talk_share,
  AVG(t.silence_share) AS mean_silence_share,
  AVG(t.overlap_share) AS mean_overlap_share,
  AVG(${d.float('t.interruptions')}) AS mean_interruptions,
  SUM(CASE WHEN t.talk_status = 'ok' THEN t.words END)
    / NULLIF(SUM(t.speech_seconds + t.overlap_seconds), 0) * 60 AS words_per_minute,
  COALESCE(MAX(p.proven_share), 0) AS proven_share
FROM ${d.mart('calls_wide')} AS c
LEFT JOIN ${d.mart('call_talk')} AS t ON t.call_id = c.call_id
LEFT JOIN ${period === 'week' ? provenWeeks(d) : d.mart('proven_days')} AS p ON p.${period} = ${start}
GROUP BY ${[period, ...names].map((_, index) => index + 1).join(', ')}`;
    },
  });
};

const agentDaily = figuresBy('agent_daily', 'business_day', { agent: agentLine });
const campaignDaily = figuresBy('campaign_daily', 'business_day', { campaign: campaignLine });
const hourDaily = figuresBy('hour_daily', 'business_day', {
  business_hour: 'int Hour of the day in the business time zone, 0 to 23; null for calls without a time.',
});
const talkWeekly = figuresBy('talk_weekly', 'week', { campaign: campaignLine, agent: agentLine });

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

const tagWeekly = defineMart({
  name: 'tag_weekly',
  grain: 'week × tag',
  description:
    'Share of the calls of a week that have each tag. A call has a tag if the tag is in its list and is not false. Each call counts once.',
  key: ['week', 'tag_id', 'tag_name'],
  keyMayBeNull: true,
  columns: openAll(`
${weekLine}
tag_id text Identifier of the tag.
tag_name text Name of the tag.
calls int Calls that have the tag.
all_calls int All calls of the week, with and without tags.
tag_share float calls / all_calls, 0 to 1.
${weekProof}`),
  query: (d, select) => `WITH everything AS (
  SELECT ${d.week('business_day')} AS week, COUNT(*) AS all_calls
  FROM ${d.mart('calls_wide')}
  WHERE business_day IS NOT NULL
  GROUP BY 1
),
tagged AS (
  SELECT
    ${d.week('business_day')} AS week,
    tag_id,
    tag_name,
    COUNT(DISTINCT CASE WHEN COALESCE(is_true, TRUE) THEN call_id END) AS calls
  FROM ${d.mart('call_tags')}
  WHERE business_day IS NOT NULL
  GROUP BY 1, tag_id, tag_name
)
SELECT
  ${select('t', { tag_share: `${d.float('t.calls')} / e.all_calls` }, { e: 'all_calls', p: 'proven_share' })}
FROM tagged AS t
JOIN everything AS e ON e.week = t.week
JOIN ${provenWeeks(d)} AS p ON p.week = t.week`,
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
  agentDaily,
  campaignDaily,
  hourDaily,
  tagDaily,
  completenessDaily,
  deliveryDaily,
  deliveryLatency,
  talkWeekly,
  tagWeekly,
  newWords,
];
