/** See `Fragments`. */
import { asBoolean, type Fragments } from '../fragments.ts';

export const postgresFragments: Fragments = {
  float: (x) => `CAST(${x} AS double precision)`,
  int: (x) => `CAST(${x} AS bigint)`,
  text: (x) => `CAST(${x} AS text)`,
  day: (instant, zone) => `CAST((${instant}) AT TIME ZONE '${zone}' AS date)`,
  day_start: (day, zone) => `(CAST(${day} AS timestamp) AT TIME ZONE '${zone}')`,
  next_day: (day) => `(${day} + 1)`,
  just_before: (instant) => `(${instant} - INTERVAL '1 microsecond')`,
  seconds_between: (from, to) => `CAST(EXTRACT(EPOCH FROM (${to}) - (${from})) AS double precision)`,
  lines: (text, order) => `STRING_AGG(${text}, CHR(10) ORDER BY ${order})`,
  days_of_spans: (spans, first, last) =>
    `SELECT DISTINCT CAST(g AS date) AS business_day FROM ${spans} CROSS JOIN LATERAL GENERATE_SERIES(CAST(${first} AS timestamp), CAST(${last} AS timestamp), INTERVAL '1 day') AS g`,
  as_numeric: (text) =>
    `CASE WHEN TRIM(${text}) ~ '^[+-]?[0-9]{1,28}([.][0-9]{0,9})?$' THEN CAST(TRIM(${text}) AS numeric(38, 9)) END`,
  as_integer: (text) => `CASE WHEN TRIM(${text}) ~ '^[+-]?[0-9]{1,18}$' THEN CAST(TRIM(${text}) AS bigint) END`,
  as_boolean: asBoolean,
  // A day beyond the end of its month is no date: the cast would fail, counting days from the first of it does not.
  as_date: (text) => {
    const first = `CAST(SUBSTRING(${text}, 1, 8) || '01' AS date)`;
    const date = `${first} + CAST(SUBSTRING(${text}, 9, 2) AS integer) - 1`;
    const isDate = `${text} ~ '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' AND ${text} >= '0001'`;
    return `CASE WHEN ${isDate} THEN CASE WHEN ${date} < ${first} + INTERVAL '1 month' THEN ${date} END END`;
  },
  as_text: (text) => text,
};
