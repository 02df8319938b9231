-- Each call of the source is in each figure that counts calls, once.
WITH counted AS (
  SELECT 'callsync__calls' AS model, COUNT(*) AS calls FROM {{ ref('callsync__calls') }}
  UNION ALL
  SELECT 'callsync__call_talk' AS model, COUNT(*) AS calls FROM {{ ref('callsync__call_talk') }}
  UNION ALL
  SELECT 'callsync__agent_daily' AS model, SUM(calls) AS calls FROM {{ ref('callsync__agent_daily') }}
  UNION ALL
  SELECT 'callsync__campaign_daily' AS model, SUM(calls) AS calls FROM {{ ref('callsync__campaign_daily') }}
  UNION ALL
  SELECT 'callsync__completeness_daily' AS model, SUM(calls) AS calls FROM {{ ref('callsync__completeness_daily') }}
)
SELECT counted.model, counted.calls, source.calls AS calls_of_source
FROM counted
CROSS JOIN (SELECT COUNT(*) AS calls FROM {{ source('callsync', 'calls') }}) AS source
WHERE counted.calls <> source.calls
