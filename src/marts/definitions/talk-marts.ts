/** Speech over time: merged intervals, turns, and the figures of a call made from them. */
import { defineMart, type Mart, type MartDialect } from '../mart.ts';

const start = (d: MartDialect): string => `u.start_offset * ${d.factor('utterance_start')}`;
const length = (d: MartDialect): string => `u.duration * ${d.factor('utterance_duration')}`;
const end = (d: MartDialect): string => `${start(d)} + ${length(d)}`;

/** Times are fractions that no float is exact for: without it a gap of a second is longer than 1. Plus 0: of nothing much is left -0. */
const toMicroseconds = (x: string): string => `ROUND((${x}) * 1000000) / 1000000 + 0`;

/** Utterances with a side and times, of a speaker. */
const timedBy = (d: MartDialect, speaker: string): string =>
  `SELECT u.call_id, ${speaker} AS speaker, ${start(d)} AS start_seconds, ${end(d)} AS end_seconds
  FROM ${d.table('utterances')} AS u
  WHERE u.side IS NOT NULL AND u.duration >= 0 AND ${end(d)} IS NOT NULL`;

/** CTE `numbered`: the columns of `spoken`, and the number of each row's run in the partition. A row where `goesOn` is false begins one. */
const numberRuns = (partition: string, goesOn: string, name: string): string => `marked AS (
  SELECT *, CASE WHEN ${goesOn} THEN 0 ELSE 1 END AS begins FROM spoken
),
numbered AS (
  SELECT
    *,
    SUM(begins) OVER (
      PARTITION BY ${partition}
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ${name}
  FROM marked
)`;

const turnOrder = 'call_id ORDER BY place, utterance_index';

/** Latest end of the utterances before, in the order of their start. */
const saidUntil = (partition: string): string => `MAX(end_seconds) OVER (
    PARTITION BY ${partition} ORDER BY start_seconds, end_seconds
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )`;

/** Time of an utterance after an instant, or all if there is none before it. */
const timeAfter = (until: string): string => `CASE
      WHEN ${until} IS NULL OR start_seconds > ${until} THEN end_seconds - start_seconds
      WHEN end_seconds > ${until} THEN end_seconds - ${until}
      WHEN end_seconds IS NOT NULL THEN 0
    END`;

/** Why a call has no figures in seconds, as branches of a CASE. */
const talkStatus = (
  d: MartDialect,
) => `WHEN ${d.factor('utterance_start')} IS NULL OR ${d.factor('utterance_duration')} IS NULL
      THEN 'unit unknown: set analytics.units.utterance_start and utterance_duration (callsync calibrate)'
    WHEN c.utterance_count = 0 THEN 'no transcript'
    WHEN t.speech IS NULL THEN 'no utterance has a side and times'
    ELSE 'ok'`;

/** The value of the agent's side. */
const ofSide = (whenIn: string, whenOut: string): string =>
  `CASE WHEN c.agent_side = 'in' THEN ${whenIn} WHEN c.agent_side = 'out' THEN ${whenOut} END`;
const [agent, customer] = [ofSide('t.talk_in', 't.talk_out'), ofSide('t.talk_out', 't.talk_in')];

const speechIntervals = defineMart({
  name: 'speech_intervals',
  intermediate: true,
  grain: 'call × speaker × interval',
  description:
    'Intervals in which a side talks. Overlapping utterances of a side are merged. Speaker * merges all sides. Empty while the units of utterances are unknown.',
  key: ['call_id', 'speaker', 'interval_number'],
  columns: `
call_id text Identifier of the call.
speaker text Side, or * for all sides merged.
interval_number int Number of the interval, from 1.
start_seconds float Start of the interval, in seconds.
end_seconds float End of the interval, in seconds.`,
  // Two reads, because PostgreSQL then reads only the speakers that a question asks for.
  query: (d, select) => `WITH spoken AS (
  ${timedBy(d, 'u.side')}
  UNION ALL
  ${timedBy(d, "'*'")}
),
${numberRuns('call_id, speaker ORDER BY start_seconds, end_seconds', `start_seconds <= ${saidUntil('call_id, speaker')}`, 'interval_number')}
SELECT
  ${select('', { start_seconds: 'MIN(start_seconds)', end_seconds: 'MAX(end_seconds)' })}
FROM numbered
GROUP BY call_id, speaker, interval_number`,
});

const speechTurns = defineMart({
  name: 'speech_turns',
  intermediate: true,
  grain: 'call × turn',
  description: 'Utterances of one side that no other side interrupts, in the order of their start.',
  key: ['call_id', 'turn_index'],
  columns: `
call_id text Identifier of the call.
turn_index int Number of the turn, from 1.
side text Side that talks.
utterances int Number of utterances.
words int Number of words.
length_seconds float From the start of the first utterance to the latest end, in seconds; null while the units of utterances are unknown.`,
  query: (d, select) => `WITH spoken AS (
  SELECT
    u.call_id,
    u.side,
    u.word_count,
    u.utterance_index,
    COALESCE(u.start_offset, 0) AS place,
    ${start(d)} AS start_seconds,
    ${end(d)} AS end_seconds
  FROM ${d.table('utterances')} AS u
  WHERE u.side IS NOT NULL
),
${numberRuns(turnOrder, `side = LAG(side) OVER (PARTITION BY ${turnOrder})`, 'turn_index')}
SELECT
  ${select('', {
    utterances: 'COUNT(*)',
    words: d.int('SUM(word_count)'),
    length_seconds: 'MAX(end_seconds) - MIN(start_seconds)',
  })}
FROM numbered
GROUP BY call_id, turn_index, side`,
});

/** Times by call. No intervals are needed: each utterance adds the time after all that was said before it, and one sort is enough. */
const talk = (d: MartDialect, isOfCall: string): string => `WITH timed AS (
  SELECT
    u.call_id,
    u.side,
    u.word_count,
    CASE WHEN ${length(d)} >= 0 THEN ${start(d)} END AS start_seconds,
    CASE WHEN ${length(d)} >= 0 THEN ${end(d)} END AS end_seconds
  FROM ${d.table('utterances')} AS u
  WHERE u.side IS NOT NULL AND ${isOfCall}
),
placed AS (
  SELECT *, ${saidUntil('call_id')} AS said_until, ${saidUntil('call_id, side')} AS side_until FROM timed
),
measured AS (
  SELECT
    *,
    ${timeAfter('said_until')} AS speech_time,
    ${timeAfter('side_until')} AS side_time,
    CASE WHEN start_seconds > said_until THEN ${toMicroseconds('start_seconds - said_until')} END AS gap
  FROM placed
)
SELECT
  call_id,
  ${d.int('SUM(word_count)')} AS words,
  SUM(CASE WHEN side = 'in' THEN side_time WHEN end_seconds IS NOT NULL THEN 0 END) AS talk_in,
  SUM(CASE WHEN side = 'out' THEN side_time WHEN end_seconds IS NOT NULL THEN 0 END) AS talk_out,
  SUM(side_time) AS talk_all,
  SUM(speech_time) AS speech,
  SUM(CASE WHEN gap > ${d.silence_gap()} THEN gap WHEN end_seconds IS NOT NULL THEN 0 END) AS silence,
  MAX(CASE WHEN gap > ${d.silence_gap()} THEN gap WHEN end_seconds IS NOT NULL THEN 0 END) AS longest_silence,
  MAX(end_seconds) - MIN(start_seconds) AS span
FROM measured
GROUP BY call_id`;

const turns = (d: MartDialect, isOfCall: string): string => `WITH ranked AS (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY call_id ORDER BY CASE WHEN length_seconds IS NULL THEN 1 ELSE 0 END, length_seconds DESC, turn_index
  ) AS nth FROM ${d.mart('speech_turns')} AS t WHERE ${isOfCall}
)
SELECT
  call_id,
  COUNT(*) AS turns,
  MAX(length_seconds) AS longest,
  MAX(CASE WHEN nth = 1 AND length_seconds IS NOT NULL THEN side END) AS longest_side
FROM ranked
GROUP BY call_id`;

const interruptions = (d: MartDialect, isOfCall: string): string => `WITH intervals AS (
  SELECT * FROM ${d.mart('speech_intervals')} AS i WHERE speaker <> '*' AND ${isOfCall}
),
interrupting AS (
  SELECT DISTINCT a.call_id, a.speaker, a.start_seconds
  FROM intervals AS a
  JOIN intervals AS b ON b.call_id = a.call_id AND b.speaker <> a.speaker
  WHERE ${toMicroseconds('a.start_seconds - b.start_seconds')} > 0 AND ${toMicroseconds('b.end_seconds - a.start_seconds')} > 0
)
SELECT
  call_id,
  COUNT(*) AS interruptions,
  SUM(CASE WHEN speaker = 'in' THEN 1 ELSE 0 END) AS interruptions_in,
  SUM(CASE WHEN speaker = 'out' THEN 1 ELSE 0 END) AS interruptions_out
FROM interrupting
GROUP BY call_id`;

const callTalk = defineMart({
  name: 'call_talk',
  perCall: true,
  grain: 'call',
  description: 'Talk per side, interruptions, overlap, silence, longest monologue, turns, and words per minute.',
  key: ['call_id'],
  columns: `
+call_id text Identifier of the call.
+call_timestamp timestamp The call's own time (UTC).
+business_day date The day of call_timestamp in the business time zone.
calls.campaign
calls.agent
+agent_side text Side of the agent; null while it is unknown.
+duration_seconds float Duration of the call in seconds; null while its unit is unknown.
+talk_status text ok, or the reason why the figures in seconds are null.
+agent_status text ok, or the reason why the figures of agent and customer are null.
+turns int Number of turns: utterances of one side that no other side interrupts.
+words int Number of words of utterances that have a side.
+talk_in_seconds float Talk time of the side in.
+talk_out_seconds float Talk time of the side out.
+talk_agent_seconds float Talk time of the agent.
+talk_customer_seconds float Talk time of the customer.
+agent_talk_share float Share of the agent in the talk time of both sides, 0 to 1.
+speech_seconds float Time in which at least one side talks.
+interruptions int Number of times that a side begins to talk while the other side talks. A simultaneous start is no interruption.
+interruptions_by_agent int Interruptions by the agent.
+overlap_seconds float Time in which both sides talk at once.
+overlap_share float Share of overlap_seconds in speech_seconds, 0 to 1.
+silence_seconds float Total of the gaps between first and last utterance that are longer than analytics.silence_gap_s.
+silence_share float Share of silence in the time from the first utterance to the end of the last utterance, 0 to 1.
+longest_silence_seconds float Longest gap of silence_seconds; 0 if there is none.
+longest_monologue_seconds float The longest turn.
+longest_monologue_side text Side that holds the longest monologue.
+words_per_minute float Words per minute of talk.`,
  query: (d, select) => `SELECT
  ${select('c', {
    talk_status: `CASE
    ${talkStatus(d)}
  END`,
    agent_status: `CASE
    WHEN c.agent_side IS NULL THEN 'side unknown: set analytics.agent_side'
    ${talkStatus(d)}
  END`,
    turns: 'COALESCE(n.turns, 0)',
    words: 'COALESCE(t.words, 0)',
    talk_in_seconds: toMicroseconds('t.talk_in'),
    talk_out_seconds: toMicroseconds('t.talk_out'),
    talk_agent_seconds: toMicroseconds(agent),
    talk_customer_seconds: toMicroseconds(customer),
    agent_talk_share: `${agent} / NULLIF(t.talk_in + t.talk_out, 0)`,
    speech_seconds: toMicroseconds('t.speech'),
    interruptions: 'CASE WHEN t.speech IS NOT NULL THEN COALESCE(i.interruptions, 0) END',
    interruptions_by_agent: `CASE WHEN t.speech IS NOT NULL THEN ${ofSide('COALESCE(i.interruptions_in, 0)', 'COALESCE(i.interruptions_out, 0)')} END`,
    overlap_seconds: toMicroseconds('t.talk_all - t.speech'),
    overlap_share: `(${toMicroseconds('t.talk_all - t.speech')}) / NULLIF(t.speech, 0)`,
    silence_seconds: toMicroseconds('t.silence'),
    silence_share: 't.silence / NULLIF(t.span, 0)',
    longest_silence_seconds: toMicroseconds('t.longest_silence'),
    longest_monologue_seconds: toMicroseconds('n.longest'),
    longest_monologue_side: 'n.longest_side',
    words_per_minute: 't.words / NULLIF(t.talk_all, 0) * 60',
  })}
FROM ${d.mart('calls_wide')} AS c
${d.join_by_call('t', (isOfCall) => talk(d, isOfCall('u')))}
${d.join_by_call('n', (isOfCall) => turns(d, isOfCall('t')))}
${d.join_by_call('i', (isOfCall) => interruptions(d, isOfCall('i')))}`,
});

export const talkMarts: readonly Mart[] = [speechIntervals, speechTurns, callTalk];
