/** Differences between the SQL dialects of marts; each kind of warehouse has its own. */

type Cast = 'float' | 'int' | 'text' | 'as_numeric' | 'as_integer' | 'as_boolean' | 'as_date';
type InTimeZone = 'day' | 'hour' | 'day_start';

/**
 * Expressions made from expressions. Each is a function of texts, so that dbt's macros are generated from it.
 * `as_…` = null for a text that is no such value.
 * `day` and `hour` (0 to 23) = those of an instant in a time zone.
 * `day_start` = the instant at which a calendar day begins in a time zone.
 * `week` = the Monday of a day's week.
 * `just_before` = the last instant before this one.
 * `lines` = texts in an order, joined by line feeds.
 * `each_day` = a join of every day from the first to the last, column `business_day`.
 * `plain_number` = a number as people write it, as digits with a point, null for other texts. Blanks, apostrophes or `other` part groups of three.
 */
export type Fragments = Readonly<
  Record<Cast | 'next_day' | 'week' | 'just_before', (x: string) => string> &
    Record<InTimeZone, (moment: string, zone: string) => string> &
    Record<'days_between' | 'seconds_between' | 'each_day', (from: string, to: string) => string> &
    Record<'lines', (text: string, order: string) => string> &
    Record<'plain_number', (text: string, decimal: string, other: string) => string>
>;

/** `as_boolean` where LOWER and TRIM are as in the standard. */
export const asBoolean = (text: string): string =>
  `CASE WHEN LOWER(TRIM(${text})) IN ('true', 'yes', '1') THEN TRUE WHEN LOWER(TRIM(${text})) IN ('false', 'no', '0') THEN FALSE END`;
