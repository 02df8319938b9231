/** GoogleSQL for the shared queries of warehouses, and for marts. */
import { asBoolean, type Fragments } from '../fragments.ts';
import type { QueryDialect } from '../reading.ts';
import { coverDates, inPartitions } from './partitions.ts';

const timestampLiteral = (micros: number): string => {
  const date = new Date(Math.floor(micros / 1000)).toISOString();
  const fraction = String(((micros % 1_000_000) + 1_000_000) % 1_000_000).padStart(6, '0');
  return `TIMESTAMP '${date.slice(0, 10)} ${date.slice(11, 19)}.${fraction}+00'`;
};

/** Times and dates are literals, so that only their partitions are read. Parameters: `ids`, and `salt` where they are hashed with it. */
export const dialectOf = (dataset: string): QueryDialect => ({
  relation: (name) => `\`${dataset}.${name}\``,
  micros: (instant) => `UNIX_MICROS(${instant})`,
  instant: timestampLiteral,
  isAsked: (text, how) => `${how === 'unlogged' ? `TO_HEX(SHA256(CONCAT(@salt, ${text})))` : text} IN UNNEST(@ids)`,
  within: (alias, dates) => (dates === undefined ? 'TRUE' : inPartitions(`${alias}.call_timestamp`, coverDates(dates))),
  ordered: (text) => text,
  joinCounts: (table, where) => `LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM \`${dataset}.${table}\` AS t WHERE ${where('t')} GROUP BY t.call_id
) AS ${table}_rows ON ${table}_rows.call_id = c.call_id`,
  column: ({ name }) => `t.${name}`,
});

export const bigqueryFragments: Fragments = {
  float: (x) => `CAST(${x} AS FLOAT64)`,
  int: (x) => `CAST(${x} AS INT64)`,
  text: (x) => `CAST(${x} AS STRING)`,
  day: (instant, zone) => `DATE(${instant}, '${zone}')`,
  hour: (instant, zone) => `EXTRACT(HOUR FROM ${instant} AT TIME ZONE '${zone}')`,
  day_start: (day, zone) => `TIMESTAMP(${day}, '${zone}')`,
  next_day: (day) => `DATE_ADD(${day}, INTERVAL 1 DAY)`,
  // The first day of year 1 is a Monday. The local BigQuery does not know ISOWEEK.
  week: (day) => `DATE_SUB(${day}, INTERVAL MOD(DATE_DIFF(${day}, DATE '0001-01-01', DAY), 7) DAY)`,
  days_between: (from, to) => `DATE_DIFF(${to}, ${from}, DAY)`,
  just_before: (instant) => `TIMESTAMP_SUB(${instant}, INTERVAL 1 MICROSECOND)`,
  seconds_between: (from, to) => `(TIMESTAMP_DIFF(${to}, ${from}, MICROSECOND) / 1000000)`,
  lines: (text, order) => `STRING_AGG(${text}, '\\n' ORDER BY ${order})`,
  each_day: (first, last) => `CROSS JOIN UNNEST(GENERATE_DATE_ARRAY(${first}, ${last})) AS business_day`,
  plain_number: (text, decimal, other) =>
    `CASE WHEN REGEXP_CONTAINS(TRIM(${text}), '^[+-]?([0-9]+|[0-9]{1,3}([ \u00a0\u202f\u2019\\x27${other}][0-9]{3})+)([${decimal}][0-9]*)?$') THEN REPLACE(REGEXP_REPLACE(TRIM(${text}), '[ \u00a0\u202f\u2019\\x27${other}]', ''), '${decimal}', '.') END`,
  as_numeric: (text) =>
    `CASE WHEN REGEXP_CONTAINS(TRIM(${text}), '^[+-]?[0-9]{1,28}([.][0-9]{0,9})?$') THEN SAFE_CAST(TRIM(${text}) AS NUMERIC) END`,
  as_integer: (text) =>
    `CASE WHEN REGEXP_CONTAINS(TRIM(${text}), '^[+-]?[0-9]{1,18}$') THEN SAFE_CAST(TRIM(${text}) AS INT64) END`,
  as_boolean: asBoolean,
  as_date: (text) =>
    `CASE WHEN REGEXP_CONTAINS(${text}, '^[0-9]{4}-[0-9]{2}-[0-9]{2}$') AND ${text} >= '0001' THEN SAFE_CAST(${text} AS DATE) END`,
};
