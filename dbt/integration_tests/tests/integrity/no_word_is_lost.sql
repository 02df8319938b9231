-- Words of utterances are those of their rows, of transcripts, of chunks, and of turns.
WITH counted AS (
  SELECT 'stg_callsync__words' AS model, COUNT(*) AS words FROM {{ ref('stg_callsync__words') }}
  UNION ALL
  SELECT 'callsync__transcripts' AS model, SUM(words) AS words FROM {{ ref('callsync__transcripts') }}
  UNION ALL
  SELECT 'callsync__document_chunk' AS model, SUM(words) AS words FROM {{ ref('callsync__document_chunk') }}
  UNION ALL
  SELECT 'callsync__call_talk' AS model, SUM(words) AS words FROM {{ ref('callsync__call_talk') }}
)
SELECT counted.model, counted.words, source.words AS words_of_source
FROM counted
CROSS JOIN (SELECT SUM(word_count) AS words FROM {{ source('callsync', 'utterances') }}) AS source
WHERE counted.words <> source.words
