/** Marts of one row a call, or a part of a call. */
import { defineMart, type Mart, type MartDialect, openAll } from '../mart.ts';

const identity = `
call_id text Identifier of the call.
call_timestamp timestamp The call's own time (UTC).
business_day date The day of call_timestamp in the business time zone; null for a call without a time.`;
const openIdentity = openAll(identity);

const fieldTexts = defineMart({
  name: 'field_texts',
  intermediate: true,
  grain: 'call',
  description: 'The configured metadata keys of each call that has one, as text.',
  key: ['call_id'],
  columns: 'call_id text Identifier of the call.',
  query: (d) => `SELECT
  call_id${d.field_pivots()}
FROM ${d.table('metadata')} AS m
WHERE ${d.field_keys()}
GROUP BY call_id`,
});

const callsWide = defineMart({
  name: 'calls_wide',
  perCall: true,
  grain: 'call',
  description: 'One row per call, with its fields in known units and the configured metadata keys as typed columns.',
  key: ['call_id'],
  columns: `${openIdentity}
+business_hour int Hour of call_timestamp in the business time zone, 0 to 23; null for a call without a time.
calls.processed_at
calls.status
calls.campaign
calls.agent
calls.direction
calls.dept
calls.client_id
calls.lang
calls.audio_state
calls.in_data
calls.in_type
calls.out_data
calls.out_type
+agent_side text Side of the agent in the transcript (in or out), by the setting analytics.agent_side; null while it is unknown.
+duration_as_sent float Duration of the call as sent; the service does not state the unit.
+duration_seconds float Duration of the call in seconds; null while its unit is unknown.
+ivr_end_seconds float End of the interactive voice response part in seconds; null while its unit is unknown.
+duration_status text ok, or the reason why duration_seconds is null.
calls.utterance_count
calls.word_count
calls.tag_count
calls.first_seen_at
calls.last_seen_at
calls.source_deleted_at`,
  query: (d, select) => `SELECT
  ${select('c', {
    business_day: d.day('c.call_timestamp'),
    business_hour: d.hour('c.call_timestamp'),
    agent_side: d.agent_side('c.direction'),
    duration_as_sent: 'c.duration',
    duration_seconds: `c.duration * ${d.factor('call_duration')}`,
    ivr_end_seconds: `c.ivr_end * ${d.factor('ivr_end')}`,
    duration_status: `CASE
    WHEN ${d.factor('call_duration')} IS NULL THEN 'unit unknown: set analytics.units.call_duration (callsync calibrate)'
    WHEN c.duration IS NULL THEN 'not sent'
    ELSE 'ok'
  END`,
    utterance_count: d.int('c.utterance_count'),
    word_count: d.int('c.word_count'),
    tag_count: d.int('c.tag_count'),
  })}${d.field_columns('f')}
FROM ${d.table('calls')} AS c${d.field_joins?.() ?? `\nLEFT JOIN ${d.mart('field_texts')} AS f ON f.call_id = c.call_id`}`,
});

/** CTE `spoken`: each utterance as a line after its speaker. That is agent or customer if the side of the agent is known, else the side. */
const spoken = (d: MartDialect): string => `spoken AS (
  SELECT
    u.call_id,
    u.utterance_index,
    u.word_count,
    CONCAT(
      CASE
        WHEN u.side = c.agent_side THEN 'agent'
        WHEN u.side IS NOT NULL AND c.agent_side IS NOT NULL THEN 'customer'
        ELSE COALESCE(u.side, 'unknown')
      END, ': ', COALESCE(u.content, '')
    ) AS line
  FROM ${d.table('utterances')} AS u
  JOIN ${d.mart('calls_wide')} AS c ON c.call_id = u.call_id
)`;

const transcripts = defineMart({
  name: 'transcripts',
  perCall: true,
  grain: 'call with at least one utterance',
  description: 'One row per transcript, with the dialogue as readable text.',
  key: ['call_id'],
  columns: `${identity}
calls.lang
agent_side text Side of the agent; null while it is unknown.
utterances int Number of utterances.
words int Number of words.
dialogue text The utterances in order, one a line. Each line begins with agent or customer, or with the side while the side of the agent is unknown.`,
  query: (d, select) => `WITH ${spoken(d)},
joined AS (
  SELECT call_id, ${d.lines('line', 'utterance_index')} AS dialogue FROM spoken GROUP BY call_id
)
SELECT
  ${select('c', { utterances: 'c.utterance_count', words: 'c.word_count' }, { j: 'dialogue' })}
FROM joined AS j
JOIN ${d.mart('calls_wide')} AS c ON c.call_id = j.call_id`,
});

const callTags = defineMart({
  name: 'call_tags',
  perCall: true,
  grain: 'call × tag',
  description: 'One row per tag of a call, with the columns by which calls are filtered.',
  key: ['call_id', 'tag_index'],
  columns: `${openIdentity}
calls.status
calls.campaign
calls.agent
tags.tag_index
tags.tag_id
+tag_name text Name of the tag.
+tag_type text Type of the value, such as bool.
tags.confidence
+is_true bool The value when it is a boolean.
tags.value_number
tags.value_text`,
  // PostgreSQL drops this join where a question needs no column of calls; it never drops an inner join.
  query: (d, select) => `SELECT
  ${select(
    'c',
    { tag_index: d.int('t.tag_index'), tag_name: 't.display_name', tag_type: 't.type', is_true: 't.value_bool' },
    { t: 'call_id tag_id confidence value_number value_text' },
  )}
FROM ${d.table('tags')} AS t
LEFT JOIN ${d.mart('calls_wide')} AS c ON c.call_id = t.call_id`,
});

const callChanges = defineMart({
  name: 'call_changes',
  grain: 'call × field × revision',
  description:
    'Changes of top-level fields of a call, with revision, source and time, never the value. A field that changed twice between two loads shows once.',
  key: ['call_id', 'field', 'source', 'observed_at'],
  columns: `${openIdentity}
changes.field
changes.revision
changes.source
changes.observed_at
changes.kind`,
  query: (d, select) => `SELECT
  ${select('c', { revision: d.int('h.revision') }, { h: 'field source observed_at kind' })}
FROM ${d.table('changes')} AS h
JOIN ${d.mart('calls_wide')} AS c ON c.call_id = h.call_id`,
});

const documentChunks = defineMart({
  name: 'document_chunks',
  perCall: true,
  grain: 'call × chunk',
  description: 'Transcripts cut between utterances into chunks of about 200 words, for retrieval.',
  key: ['call_id', 'chunk_index'],
  columns: `
chunk_id text call_id and chunk_index, joined by a colon.
${identity.trim()}
calls.campaign
calls.agent
calls.lang
chunk_index int Position of the chunk in its call, from 0.
first_utterance int Position of the first utterance of the chunk.
last_utterance int Position of the last utterance of the chunk.
words int Number of its words.
chunk_text text Utterances of the chunk in order, one a line, as in transcripts.`,
  query: (d, select) => `WITH ${spoken(d)},
counted AS (
  SELECT
    *,
    SUM(word_count) OVER (
      PARTITION BY call_id ORDER BY utterance_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - word_count AS words_before
  FROM spoken
),
cut AS (
  SELECT
    *,
    DENSE_RANK() OVER (PARTITION BY call_id ORDER BY FLOOR(${d.float('words_before')} / 200)) - 1 AS chunk_index
  FROM counted
),
joined AS (
  SELECT
    call_id,
    chunk_index,
    ${d.int('MIN(utterance_index)')} AS first_utterance,
    ${d.int('MAX(utterance_index)')} AS last_utterance,
    ${d.int('SUM(word_count)')} AS words,
    ${d.lines('line', 'utterance_index')} AS chunk_text
  FROM cut
  GROUP BY call_id, chunk_index
)
SELECT
  ${select(
    'c',
    { chunk_id: `CONCAT(c.call_id, ':', ${d.text('j.chunk_index')})` },
    { j: 'chunk_index first_utterance last_utterance words chunk_text' },
  )}
FROM joined AS j
JOIN ${d.mart('calls_wide')} AS c ON c.call_id = j.call_id`,
});

const repeatCalls = defineMart({
  name: 'repeat_calls',
  grain: 'call with a time and the number of its caller',
  description:
    'One row per call, with the previous call of the same caller, and whether the caller calls again. The caller is in_data, as sent or as a token. Calls belong together if at most analytics.repeat_days calendar days are between them.',
  key: ['call_id'],
  columns: `${openIdentity}
calls.campaign
calls.agent
calls.direction
+previous_call_id text Previous call of the same caller; null if there is none.
+hours_since_previous float Hours from the start of the previous call to the start of this call.
+is_repeat bool True if the previous call is at most analytics.repeat_days days before this call.
+is_called_again bool True if the next call of the same caller is at most analytics.repeat_days days after this call. A false value is final only if proven_share is 1.
+proven_share float Mean of the proven shares of the days from this call to analytics.repeat_days days later, 0 to 1. Days without calls and verdicts count as 0.`,
  // No star: a column of a configured field may have one of the names below.
  query: (d, select) => `WITH placed AS (
  SELECT
    call_id,
    call_timestamp,
    business_day,
    campaign,
    agent,
    direction,
    LAG(call_id) OVER (PARTITION BY in_data ORDER BY call_timestamp, call_id) AS previous_call_id,
    LAG(call_timestamp) OVER (PARTITION BY in_data ORDER BY call_timestamp, call_id) AS previous_timestamp,
    LAG(business_day) OVER (PARTITION BY in_data ORDER BY call_timestamp, call_id) AS previous_day,
    LEAD(business_day) OVER (PARTITION BY in_data ORDER BY call_timestamp, call_id) AS next_day
  FROM ${d.mart('calls_wide')}
  WHERE in_data IS NOT NULL AND in_data <> '' AND call_timestamp IS NOT NULL
),
numbered AS (
  SELECT business_day, proven_share, ${d.days_between("DATE '1970-01-01'", 'business_day')} AS day_number
  FROM ${d.mart('proven_days')}
),
proof AS (
  SELECT
    business_day,
    SUM(proven_share) OVER (ORDER BY day_number RANGE BETWEEN CURRENT ROW AND ${d.repeat_days()} FOLLOWING)
      / (${d.repeat_days()} + 1) AS proven_share
  FROM numbered
)
SELECT
  ${select(
    'p',
    {
      hours_since_previous: `${d.seconds_between('p.previous_timestamp', 'p.call_timestamp')} / 3600`,
      is_repeat: `COALESCE(${d.days_between('p.previous_day', 'p.business_day')} <= ${d.repeat_days()}, FALSE)`,
      is_called_again: `COALESCE(${d.days_between('p.business_day', 'p.next_day')} <= ${d.repeat_days()}, FALSE)`,
    },
    { y: 'proven_share' },
  )}
FROM placed AS p
JOIN proof AS y ON y.business_day = p.business_day`,
});

const tagPairs = defineMart({
  name: 'tag_pairs',
  grain: 'pair of tags that a call has',
  description:
    'Tags that occur together. A call has a tag if the tag is in its list and is not false. Each pair shows once, in the order of the names.',
  key: ['tag_name', 'other_tag_name'],
  columns: openAll(`
tag_name text Name of the tag.
other_tag_name text Name of the other tag.
calls int Calls that have both tags.
calls_with_tag int Calls that have the tag.
calls_with_other int Calls that have the other tag.
lift float calls × all calls with a tag / (calls_with_tag × calls_with_other). Above 1, both tags occur together more often than by chance.`),
  query: (d, select) => `WITH had AS (
  SELECT DISTINCT call_id, tag_name FROM ${d.mart('call_tags')} WHERE tag_name IS NOT NULL AND COALESCE(is_true, TRUE)
),
each AS (
  SELECT tag_name, COUNT(*) AS calls FROM had GROUP BY tag_name
),
pairs AS (
  SELECT a.tag_name, b.tag_name AS other_tag_name, COUNT(*) AS calls
  FROM had AS a
  JOIN had AS b ON b.call_id = a.call_id AND b.tag_name > a.tag_name
  GROUP BY a.tag_name, b.tag_name
),
every_call AS (
  SELECT COUNT(DISTINCT call_id) AS calls FROM had
)
SELECT
  ${select('p', {
    calls_with_tag: 'a.calls',
    calls_with_other: 'b.calls',
    lift: `${d.float('p.calls')} * e.calls / (a.calls * b.calls)`,
  })}
FROM pairs AS p
JOIN each AS a ON a.tag_name = p.tag_name
JOIN each AS b ON b.tag_name = p.other_tag_name
CROSS JOIN every_call AS e`,
});

export const callMarts: readonly Mart[] = [
  ...[fieldTexts, callsWide, transcripts, callTags, callChanges, documentChunks],
  ...[repeatCalls, tagPairs],
];
