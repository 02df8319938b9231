/**
 * What differs between the dialects in which a mart is written: PostgreSQL, GoogleSQL, and dbt, whose macros choose
 * between the two when they are compiled. Everything else in a definition is SQL that both understand.
 */
import type { FieldType, MartSettings } from './settings.ts';

/** Expressions made from expressions. Each is a function of texts, so that dbt's macros are generated from it. */
export interface Fragments {
  readonly float: (x: string) => string;
  readonly int: (x: string) => string;
  readonly text: (x: string) => string;
  /** The calendar day of an instant in a time zone. */
  readonly day: (instant: string, zone: string) => string;
  /** The instant at which a calendar day begins in a time zone. */
  readonly day_start: (day: string, zone: string) => string;
  readonly next_day: (day: string) => string;
  /** The last instant before this one. */
  readonly just_before: (instant: string) => string;
  readonly seconds_between: (from: string, to: string) => string;
  /** Texts joined by line feeds. */
  readonly lines: (text: string, order: string) => string;
  /** A query for every day of spans, both ends included: column `business_day`. */
  readonly days_of_spans: (spans: string, first: string, last: string) => string;
  readonly as_numeric: (text: string) => string;
  readonly as_integer: (text: string) => string;
  readonly as_boolean: (text: string) => string;
  readonly as_date: (text: string) => string;
  readonly as_text: (text: string) => string;
}

/** What a definition is written with: the fragments of a dialect, its relations, and the settings. */
export interface Dialect extends Omit<Fragments, 'day' | 'day_start'> {
  /** A table of callsync. */
  table(name: string): string;
  /** Another mart. */
  mart(name: string): string;
  /** The business day of an instant. */
  day(instant: string): string;
  day_start(day: string): string;
  /** Side of the agent by an expression of the direction; null where it is unknown. */
  agent_side(direction: string): string;
  /** Seconds of one unit of a field; null while its unit is unknown. */
  factor(field: string): string;
  silence_gap(): string;
  /** `, …` of the configured keys: their texts by call from rows of key and value, and the typed columns of those. */
  field_pivots(): string;
  field_columns(relation: string): string;
}

const boolean = (text: string): string =>
  `CASE WHEN LOWER(TRIM(${text})) IN ('true', 'yes', '1') THEN TRUE WHEN LOWER(TRIM(${text})) IN ('false', 'no', '0') THEN FALSE END`;

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
  as_boolean: boolean,
  // A day beyond the end of its month is no date: the cast would fail, counting days from the first of it does not.
  as_date: (text) => {
    const first = `CAST(SUBSTRING(${text}, 1, 8) || '01' AS date)`;
    const date = `${first} + CAST(SUBSTRING(${text}, 9, 2) AS integer) - 1`;
    const isDate = `${text} ~ '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' AND ${text} >= '0001'`;
    return `CASE WHEN ${isDate} THEN CASE WHEN ${date} < ${first} + INTERVAL '1 month' THEN ${date} END END`;
  },
  as_text: (text) => text,
};

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
  as_boolean: boolean,
  as_date: (text) =>
    `CASE WHEN REGEXP_CONTAINS(${text}, '^[0-9]{4}-[0-9]{2}-[0-9]{2}$') AND ${text} >= '0001' THEN SAFE_CAST(${text} AS DATE) END`,
  as_text: (text) => text,
};

/** The dialect of a warehouse's views, with the settings written into them. */
export const createDialect = (
  fragments: Fragments,
  settings: MartSettings,
  relations: Pick<Dialect, 'table' | 'mart'>,
): Dialect => ({
  ...fragments,
  ...relations,
  day: (instant) => fragments.day(instant, settings.timeZone),
  day_start: (day) => fragments.day_start(day, settings.timeZone),
  agent_side: (direction) => {
    const { byDirection, otherwise } = settings.agentSide;
    const side = (one: string): string => (one === 'unknown' ? 'NULL' : `'${one}'`);
    const cases = Object.entries(byDirection).map(
      ([name, one]) => `WHEN UPPER(${direction}) = '${name.toUpperCase()}' THEN ${side(one)}`,
    );
    return `CASE ${cases.join(' ')} WHEN 1 = 0 THEN '' ELSE ${side(otherwise)} END`;
  },
  factor: (field) =>
    ({ unknown: fragments.float('NULL'), seconds: '1.0', milliseconds: '0.001' })[settings.unitOf(field)],
  silence_gap: () => String(settings.silenceGap),
  field_pivots: () =>
    settings.fields.map(({ key, name }) => `,\n  MAX(CASE WHEN key = '${key}' THEN value END) AS ${name}`).join(''),
  field_columns: (relation) =>
    settings.fields
      .map(({ name, type }) => `,\n  ${fragments[typedBy(type)](`${relation}.${name}`)} AS ${name}`)
      .join(''),
});

const typedBy = (type: FieldType): `as_${FieldType}` => `as_${type}`;
