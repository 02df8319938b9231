-- Calls of each campaign by week. A week is complete once its seven days are proven: others may still get calls.
SELECT date_trunc('week', d.business_day)::date AS week, d.campaign, sum(d.calls) AS calls,
       count(DISTINCT d.business_day) FILTER (WHERE c.completeness = 'proven') AS proven_days
  FROM {{ ref('callsync__campaign_daily') }} AS d
  LEFT JOIN {{ ref('callsync__completeness_daily') }} AS c ON c.business_day = d.business_day
 GROUP BY 1, 2
