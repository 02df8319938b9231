-- No call has a tag twice, so tags are as many in call_tags as in tag_daily.
WITH counted AS (
  SELECT 'callsync__call_tags' AS model, COUNT(*) AS tags FROM {{ ref('callsync__call_tags') }}
  UNION ALL
  SELECT 'callsync__tag_daily' AS model, SUM(calls) AS tags FROM {{ ref('callsync__tag_daily') }}
)
SELECT counted.model, counted.tags, source.tags AS tags_of_source
FROM counted
CROSS JOIN (SELECT COUNT(*) AS tags FROM {{ source('callsync', 'tags') }}) AS source
WHERE counted.tags <> source.tags
