/** See `Fragments`. */
import { asBoolean, type Fragments } from '../fragments.ts';

export const bigqueryFragments: Fragments = {
  float: (x) => `CAST(${x} AS FLOAT64)`,
  int: (x) => `CAST(${x} AS INT64)`,
  text: (x) => `CAST(${x} AS STRING)`,
  day: (instant, zone) => `DATE(${instant}, '${zone}')`,
  day_start: (day, zone) => `TIMESTAMP(${day}, '${zone}')`,
  next_day: (day) => `DATE_ADD(${day}, INTERVAL 1 DAY)`,
  just_before: (instant) => `TIMESTAMP_SUB(${instant}, INTERVAL 1 MICROSECOND)`,
  seconds_between: (from, to) => `(TIMESTAMP_DIFF(${to}, ${from}, MICROSECOND) / 1000000)`,
  lines: (text, order) => `STRING_AGG(${text}, '\\n' ORDER BY ${order})`,
  days_of_spans: (spans, first, last) =>
    `SELECT DISTINCT business_day FROM ${spans} CROSS JOIN UNNEST(GENERATE_DATE_ARRAY(${first}, ${last})) AS business_day`,
  as_numeric: (text) =>
    `CASE WHEN REGEXP_CONTAINS(TRIM(${text}), '^[+-]?[0-9]{1,28}([.][0-9]{0,9})?$') THEN SAFE_CAST(TRIM(${text}) AS NUMERIC) END`,
  as_integer: (text) =>
    `CASE WHEN REGEXP_CONTAINS(TRIM(${text}), '^[+-]?[0-9]{1,18}$') THEN SAFE_CAST(TRIM(${text}) AS INT64) END`,
  as_boolean: asBoolean,
  as_date: (text) =>
    `CASE WHEN REGEXP_CONTAINS(${text}, '^[0-9]{4}-[0-9]{2}-[0-9]{2}$') AND ${text} >= '0001' THEN SAFE_CAST(${text} AS DATE) END`,
  as_text: (text) => text,
};
