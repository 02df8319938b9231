/** PostgreSQL's SQL for the shared queries of warehouses, and for marts. */
import { toMicros, toTimestamp } from '../../postgres/database.ts';
import { asBoolean, type Fragments } from '../fragments.ts';
import type { QueryDialect } from '../reading.ts';
import { type Layout, qualified, quote, wordArrays } from './layout.ts';

/** The ids are the first parameter. */
export const dialectOf = (layout: Layout): QueryDialect => ({
  relation: (name) => qualified(layout, name),
  micros: (instant) => toMicros(instant).text,
  instant: (micros) => toTimestamp(String(micros)).text,
  isAsked: (text) => `${text} = ANY($1)`,
  within: () => 'TRUE',
  ordered: (text) => `${text} COLLATE "C"`,
  joinCounts: (table) =>
    `LEFT JOIN LATERAL (SELECT count(*) AS n FROM ${qualified(layout, table)} AS t WHERE t.call_id = c.call_id) AS ${table}_rows ON TRUE`,
  // A run of pages, because no index has the times of child rows.
  inPart: (table, { part, of }) => {
    const pages = `pg_relation_size('${qualified(layout, table)}') / current_setting('block_size')::bigint / ${of} + 1`;
    const page = (at: number): string => `(SELECT format('(%s,0)', ${at} * (${pages}))::tid)`;
    return `t.ctid >= ${page(part)} AND t.ctid < ${page(part + 1)}`;
  },
  column: ({ name, type }) => {
    const value = `t.${quote(name)}`;
    if (type === 'words') {
      const [values, starts, lengths, scores] = wordArrays('t');
      return `json_build_object('value', ${values}, 'start', ${starts}, 'length', ${lengths}, 'score', ${scores})`;
    }
    if (type === 'timestamp') return toMicros(value).text;
    return type === 'json' || type === 'decimal' ? `${value}::text` : value;
  },
});

export const postgresFragments: Fragments = {
  float: (x) => `CAST(${x} AS double precision)`,
  int: (x) => `CAST(${x} AS bigint)`,
  text: (x) => `CAST(${x} AS text)`,
  day: (instant, zone) => `CAST((${instant}) AT TIME ZONE '${zone}' AS date)`,
  hour: (instant, zone) => `CAST(DATE_PART('hour', (${instant}) AT TIME ZONE '${zone}') AS bigint)`,
  day_start: (day, zone) => `(CAST(${day} AS timestamp) AT TIME ZONE '${zone}')`,
  next_day: (day) => `(${day} + 1)`,
  week: (day) => `CAST(DATE_TRUNC('week', ${day}) AS date)`,
  days_between: (from, to) => `(${to} - ${from})`,
  just_before: (instant) => `(${instant} - INTERVAL '1 microsecond')`,
  seconds_between: (from, to) => `CAST(EXTRACT(EPOCH FROM (${to}) - (${from})) AS double precision)`,
  lines: (text, order) => `STRING_AGG(${text}, CHR(10) ORDER BY ${order})`,
  each_day: (first, last) =>
    `CROSS JOIN LATERAL (SELECT CAST(g AS date) AS business_day FROM GENERATE_SERIES(CAST(${first} AS timestamp), CAST(${last} AS timestamp), INTERVAL '1 day') AS g) AS g`,
  plain_number: (text, decimal, other) =>
    `CASE WHEN TRIM(${text}) ~ '^[+-]?([0-9]+|[0-9]{1,3}([ \u00a0\u202f\u2019\\x27${other}][0-9]{3})+)([${decimal}][0-9]*)?$' THEN REPLACE(REGEXP_REPLACE(TRIM(${text}), '[ \u00a0\u202f\u2019\\x27${other}]', '', 'g'), '${decimal}', '.') END`,
  // Without a scale: a sum would print nine decimals. Counts of digits make a pattern slow, so only long texts meet one.
  as_numeric: (text) =>
    `CASE WHEN ${text} ~ '^ *[+-]?[0-9]+([.][0-9]*)? *$' AND (OCTET_LENGTH(${text}) <= 11 OR TRIM(${text}) ~ '^[+-]?[0-9]{1,28}([.][0-9]{0,9})?$') THEN CAST(${text} AS numeric) END`,
  as_integer: (text) =>
    `CASE WHEN ${text} ~ '^ *[+-]?[0-9]+ *$' AND (OCTET_LENGTH(${text}) <= 18 OR TRIM(${text}) ~ '^[+-]?[0-9]{1,18}$') THEN CAST(${text} AS bigint) END`,
  as_boolean: asBoolean,
  // A day beyond the end of its month is no date: the cast would fail, counting days from the first of it does not.
  as_date: (text) => {
    const first = `CAST(SUBSTRING(${text}, 1, 8) || '01' AS date)`;
    const date = `${first} + CAST(SUBSTRING(${text}, 9, 2) AS integer) - 1`;
    const isDate = `${text} ~ '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' AND ${text} >= '0001'`;
    return `CASE WHEN ${isDate} THEN CASE WHEN ${date} < ${first} + INTERVAL '1 month' THEN ${date} END END`;
  },
};
