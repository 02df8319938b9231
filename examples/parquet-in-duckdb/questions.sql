-- Calls by day (UTC; a plain cast would take the time zone of the session), and how many of them have a transcript
SELECT make_timestamp(epoch_us(call_timestamp))::date AS day, count(*) AS calls,
       count(*) FILTER (WHERE utterance_count > 0) AS with_transcript
  FROM calls GROUP BY day ORDER BY day DESC LIMIT 7;

-- Words of each side by direction
SELECT c.direction, u.side, sum(u.word_count) AS words
  FROM utterances AS u JOIN calls AS c USING (call_id) GROUP BY ALL ORDER BY ALL;

-- Exact decimals are text in the files, so that no digit is lost: choose a type that holds them
SELECT udf_index, count(*) AS values, sum(value_number::DECIMAL(38, 9)) AS total
  FROM udfs WHERE value_number IS NOT NULL GROUP BY udf_index ORDER BY values DESC LIMIT 5;

-- The five tags with the most calls: count calls, because a call may carry a tag more than once
SELECT display_name, count(DISTINCT call_id) AS calls FROM tags GROUP BY display_name ORDER BY calls DESC LIMIT 5;
