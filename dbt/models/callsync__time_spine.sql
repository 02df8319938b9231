SELECT business_day AS date_day
FROM {{ ref('int_callsync__proven_days') }}
