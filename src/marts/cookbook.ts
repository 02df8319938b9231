/**
 * Questions that analysts ask, each as one query; `{marts}` stands for the schema or dataset of the marts. Where nulls
 * sort differs between the dialects, so a query whose order may meet one says it.
 */

const queries: Readonly<Record<string, string>> = {
  'How many calls does each day have, and is the day proven?':
    'SELECT business_day, calls, proven_share, completeness\nFROM {marts}.completeness_daily\nORDER BY business_day',
  'Which days must not be reported yet?':
    "SELECT business_day, proven_share\nFROM {marts}.completeness_daily\nWHERE completeness <> 'proven'\nORDER BY business_day",
  'Up to which time are all calls proven, without a gap?':
    'SELECT MAX(proven_through) AS proven_through, MAX(heartbeat_at) AS as_of\nFROM {marts}.completeness_daily',
  'How many calls are qualified and void, by campaign?':
    "SELECT campaign, COUNT(*) AS calls, COUNT(CASE WHEN status = 'qualified' THEN 1 END) AS qualified_calls, COUNT(CASE WHEN status = 'void' THEN 1 END) AS void_calls\nFROM {marts}.calls_wide\nGROUP BY campaign\nORDER BY campaign NULLS LAST",
  'How long do calls of each direction last?':
    'SELECT direction, COUNT(*) AS calls, AVG(duration_seconds) AS mean_seconds, MAX(duration_seconds) AS longest_seconds\nFROM {marts}.calls_wide\nGROUP BY direction\nORDER BY direction NULLS LAST',
  'Which five agents took the most calls?':
    'SELECT agent, COUNT(*) AS calls\nFROM {marts}.calls_wide\nGROUP BY agent\nORDER BY calls DESC, agent NULLS LAST\nLIMIT 5',
  'How long do calls of each agent take, with which share of talk, silence and overlap?':
    'SELECT t.agent, COUNT(*) AS calls, AVG(t.duration_seconds) AS handle_seconds, AVG(t.talk_agent_seconds) AS talk_seconds, AVG(t.silence_share) AS silence_share, AVG(t.overlap_share) AS overlap_share, MIN(d.proven_share) AS proven_share\nFROM {marts}.call_talk AS t\nLEFT JOIN {marts}.completeness_daily AS d ON d.business_day = t.business_day\nGROUP BY t.agent\nORDER BY t.agent NULLS LAST\nLIMIT 5',
  'Which part of the calls is resolved without another call, by campaign?':
    'SELECT campaign, COUNT(*) AS calls, AVG(CASE WHEN is_called_again THEN 0 ELSE 1.0 END) AS resolved_share, MIN(proven_share) AS proven_share\nFROM {marts}.repeat_calls\nGROUP BY campaign\nORDER BY campaign NULLS LAST',
  'Which calls have the longest monologue?':
    'SELECT call_id, longest_monologue_side, longest_monologue_seconds\nFROM {marts}.call_talk\nWHERE longest_monologue_seconds IS NOT NULL\nORDER BY ROUND(CAST(longest_monologue_seconds AS NUMERIC), 3) DESC, call_id\nLIMIT 5',
  'In which calls do both sides talk at once for the largest share of the speech?':
    'SELECT call_id, overlap_seconds, overlap_share\nFROM {marts}.call_talk\nWHERE overlap_seconds > 0.01\nORDER BY overlap_share DESC, call_id\nLIMIT 5',
  'How many words a minute are spoken, by campaign?':
    'SELECT campaign, SUM(words) / SUM(speech_seconds + overlap_seconds) * 60 AS words_per_minute\nFROM {marts}.call_talk\nGROUP BY campaign\nORDER BY campaign NULLS LAST',
  'How many calls have more than a fifth of silence?':
    'SELECT COUNT(*) AS calls, SUM(CASE WHEN silence_share > 0.2 THEN 1 ELSE 0 END) AS silent_calls\nFROM {marts}.call_talk',
  'How often was each tag found true?':
    'WITH found AS (\n  SELECT tag_name, call_id, MAX(CASE WHEN is_true THEN 1 WHEN NOT is_true THEN 0 END) AS found_true\n  FROM {marts}.call_tags\n  GROUP BY tag_name, call_id\n)\nSELECT tag_name, COUNT(*) AS calls, SUM(found_true) AS calls_true\nFROM found\nGROUP BY tag_name\nORDER BY calls DESC, tag_name NULLS LAST',
  'Which tags come together in a call?':
    'WITH pairs AS (\n  SELECT DISTINCT a.call_id, a.tag_name AS tag, b.tag_name AS other_tag\n  FROM {marts}.call_tags AS a\n  JOIN {marts}.call_tags AS b ON b.call_id = a.call_id AND b.tag_name > a.tag_name\n)\nSELECT tag, other_tag, COUNT(*) AS calls\nFROM pairs\nGROUP BY tag, other_tag\nORDER BY calls DESC, tag, other_tag\nLIMIT 5',
  'Which calls have a tag that is true with little confidence?':
    'SELECT call_id, tag_name, confidence\nFROM {marts}.call_tags\nWHERE is_true AND confidence < 0.1\nORDER BY confidence, call_id, tag_index\nLIMIT 5',
  'How large is the sum of a configured field, by campaign?':
    'SELECT campaign, COUNT(deal_value) AS deals, SUM(deal_value) AS value\nFROM {marts}.calls_wide\nGROUP BY campaign\nORDER BY campaign NULLS LAST',
  'In which part of the calls of a week was each tag found?':
    'SELECT week, tag_name, calls, all_calls, tag_share, proven_share\nFROM {marts}.tag_weekly\nORDER BY week, tag_share DESC, tag_name NULLS LAST\nLIMIT 5',
  'How are calls spread over the hours of the business day?':
    'WITH hours AS (\n  SELECT business_day, business_hour, COUNT(*) AS calls\n  FROM {marts}.calls_wide\n  WHERE call_timestamp IS NOT NULL\n  GROUP BY business_day, business_hour\n)\nSELECT h.business_hour, SUM(h.calls) AS calls, MIN(COALESCE(p.proven_share, 0)) AS proven_share\nFROM hours AS h\nLEFT JOIN {marts}.completeness_daily AS p ON p.business_day = h.business_day\nGROUP BY h.business_hour\nORDER BY h.business_hour',
  'How many webhook deliveries came, and with which outcome?':
    'SELECT business_day, SUM(deliveries) AS deliveries, SUM(accepted) AS accepted, SUM(rejected) AS rejected\nFROM {marts}.delivery_daily\nGROUP BY business_day\nORDER BY business_day',
  'What changed after the first load, by source and field?':
    "SELECT source, field, COUNT(*) AS changes, COUNT(DISTINCT call_id) AS calls\nFROM {marts}.call_changes\nWHERE field <> '*'\nGROUP BY source, field\nORDER BY changes DESC, source, field",
  'What are the first words of the longest transcript?':
    'SELECT call_id, words, SUBSTR(dialogue, 1, 60) AS beginning\nFROM {marts}.transcripts\nWHERE call_id = (SELECT call_id FROM {marts}.calls_wide ORDER BY word_count DESC, call_id LIMIT 1)',
  'How many chunks do the transcripts of each language make, for retrieval?':
    'SELECT lang, COUNT(DISTINCT call_id) AS calls, COUNT(*) AS chunks, SUM(words) AS words\nFROM {marts}.document_chunks\nGROUP BY lang\nORDER BY lang NULLS LAST',
};

/** Each question with its query. */
export const cookbook = Object.entries(queries).map(([title, sql]) => ({ title, sql }));
