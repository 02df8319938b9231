/** UTC dates of partitions: of a batch, and as the constant predicate by which BigQuery reads and changes no other partition. */

import { childTables, keptTables } from '../../../schemas/tables.ts';
import { dateOf, dayMs } from '../../lib/timestamps.ts';
import type { CallGuard, CallLoad, TombstoneLoad } from '../warehouse.ts';
import { type Layout, quote } from './ddl.ts';

/** Most ranges in one predicate: keeps the longest script far below the 1 MB that a query may have. */
const maxRanges = 100;

/** UTC date (`YYYY-MM-DD`) of an instant in microseconds; null for no timestamp. */
export const partitionOf = (micros: number | null): string | null => (micros === null ? null : dateOf(micros / 1000));

/** First day, inclusive, and last day, exclusive. */
type DayRange = { readonly from: string; readonly to: string };

/**
 * Sorted, disjoint ranges that cover the dates. Beyond `limit` ranges, the narrowest gaps are closed. The predicate
 * then covers days without rows of the batch, which costs a scan and changes nothing.
 */
export const coverDates = (dates: Iterable<string | null>, limit = maxRanges): DayRange[] => {
  const days = [...new Set([...dates].filter((date) => date !== null))].map((date) => Date.parse(date) / dayMs);
  days.sort((a, b) => a - b);
  const gaps = days.slice(1).map((day, index) => day - (days[index] as number));
  const widest = gaps.filter((gap) => gap > 1).sort((a, b) => b - a);
  const closed = Math.max(1, widest.length >= limit ? (widest[limit - 1] as number) : 1);
  const ranges: DayRange[] = [];
  let first = 0;
  for (let index = 0; index < days.length; index += 1) {
    if (index < gaps.length && (gaps[index] as number) <= closed) continue;
    ranges.push({ from: dateOf((days[first] as number) * dayMs), to: dateOf(((days[index] as number) + 1) * dayMs) });
    first = index + 1;
  }
  return ranges;
};

/** The rows of the partitions, and those without a timestamp. Literals only, so that BigQuery prunes by it. */
export const inPartitions = (column: string, ranges: readonly DayRange[]): string => {
  const terms = ranges.map(
    ({ from, to }) => `(${column} >= TIMESTAMP '${from} 00:00:00+00' AND ${column} < TIMESTAMP '${to} 00:00:00+00')`,
  );
  return `(${[...terms, `${column} IS NULL`].join(' OR ')})`;
};

/** A job may modify 4,000 partitions; half of them leaves room for days that a range of dates covers as well. */
export const mostDates = 2_000;
const isCall = (entry: CallLoad | TombstoneLoad): entry is CallLoad => 'flatten' in entry;

/** Every date under which rows of the call may be found before and after the load. */
export const datesOf = (entry: CallLoad | TombstoneLoad): readonly (string | null)[] =>
  isCall(entry) ? [...entry.partitions, partitionOf(entry.callTimestamp)] : entry.partitions;

/** Whether the call was or will be sent under more than one date. */
export const isMoved = (entry: CallLoad): boolean => new Set(datesOf(entry)).size > 1;

// Removing calls that the ledger does not know.

/** Id and time of a call as one text: rows of a call have the same wherever they are. */
const rowKey = (alias: string): string =>
  `CONCAT(IFNULL(CAST(UNIX_MICROS(${alias}.call_timestamp) AS STRING), '-'), ' ', ${alias}.call_id)`;

/**
 * One script: removes the rows of calls whose guard is still the given one, in the partitions of the guards. Values are
 * literals, because the local BigQuery passes no parameters into scripts.
 */
export const removeScript = (dataset: string, layout: Layout, guards: readonly CallGuard[], keepsChanges = false) => {
  const ranges = coverDates(new Set(guards.map(({ callTimestamp }) => partitionOf(callTimestamp))));
  const texts = guards.map(({ epoch, revision, callId }) => quote(`${epoch} ${revision} ${callId}`));
  const within = (alias: string): string => inPartitions(`${alias}.call_timestamp`, ranges);
  const deletions = keptTables(layout.documents).map(
    ({ name }) => `DELETE FROM \`${dataset}.${name}\` AS t\nWHERE ${within('t')}\n  AND t.call_id IN UNNEST(surplus);`,
  );
  // Rows of changes stay under the dates that a call had before.
  if (!keepsChanges) deletions.push(`DELETE FROM \`${dataset}.changes\` AS t\nWHERE t.call_id IN UNNEST(surplus);`);
  const meant = `SELECT c.call_id
  FROM \`${dataset}.calls\` AS c
  WHERE ${within('c')}
    AND CONCAT(CAST(c.ledger_epoch AS STRING), ' ', CAST(c.revision AS STRING), ' ', c.call_id) IN (${texts.join(', ')})`;
  return inTransaction('surplus', meant, deletions);
};

/** One script: removes child rows of these ids whose call has no row of the same time in `calls`. */
export const removeOrphansScript = (dataset: string, layout: Layout, callIds: readonly string[]): string => {
  const ids = callIds.map(quote).join(', ');
  const deletions = childTables(layout.documents).map(
    ({ name }) =>
      `DELETE FROM \`${dataset}.${name}\` AS t\nWHERE t.call_id IN (${ids}) AND ${rowKey('t')} NOT IN UNNEST(kept);`,
  );
  const kept = `SELECT ${rowKey('c')} FROM \`${dataset}.calls\` AS c WHERE c.call_id IN (${ids})`;
  return inTransaction('kept', kept, deletions);
};

/** Statements that read texts of a query by the name of a variable. */
const inTransaction = (variable: string, query: string, statements: readonly string[]): string => `BEGIN
DECLARE ${variable} ARRAY<STRING> DEFAULT [];
BEGIN TRANSACTION;
SET ${variable} = ARRAY(
  ${query}
);
${statements.join('\n')}
COMMIT TRANSACTION;
END;
`;
