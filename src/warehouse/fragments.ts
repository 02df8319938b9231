/** Differences between the SQL dialects of marts; each kind of warehouse has its own. */

/** Expressions made from expressions. Each is a function of texts, so that dbt's macros are generated from it. */
export interface Fragments {
  readonly float: (x: string) => string;
  readonly int: (x: string) => string;
  readonly text: (x: string) => string;
  /** The calendar day of an instant in a time zone. */
  readonly day: (instant: string, zone: string) => string;
  /** The hour of an instant in a time zone, 0 to 23. */
  readonly hour: (instant: string, zone: string) => string;
  /** The instant at which a calendar day begins in a time zone. */
  readonly day_start: (day: string, zone: string) => string;
  readonly next_day: (day: string) => string;
  /** The Monday of a day's week. */
  readonly week: (day: string) => string;
  readonly days_between: (from: string, to: string) => string;
  /** The last instant before this one. */
  readonly just_before: (instant: string) => string;
  readonly seconds_between: (from: string, to: string) => string;
  /** Texts joined by line feeds. */
  readonly lines: (text: string, order: string) => string;
  /** A join of every day from the first to the last: column `business_day`. */
  readonly each_day: (first: string, last: string) => string;
  /** A number as people write it, as digits with a point; null for other texts. Blanks, apostrophes or `other` part groups of three. */
  readonly plain_number: (text: string, decimal: string, other: string) => string;
  readonly as_numeric: (text: string) => string;
  readonly as_integer: (text: string) => string;
  readonly as_boolean: (text: string) => string;
  readonly as_date: (text: string) => string;
}

/** `as_boolean` where LOWER and TRIM are as in the standard. */
export const asBoolean = (text: string): string =>
  `CASE WHEN LOWER(TRIM(${text})) IN ('true', 'yes', '1') THEN TRUE WHEN LOWER(TRIM(${text})) IN ('false', 'no', '0') THEN FALSE END`;
