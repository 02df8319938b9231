/** UTC dates of partitions, and the constant predicate by which BigQuery reads and changes no other partition. */

const dayMs = 86_400_000;
/** Most ranges in one predicate: keeps the longest script far below the 1 MB that a query may have. */
const maxRanges = 100;

/** UTC date (`YYYY-MM-DD`) of an instant in microseconds; null for no timestamp. */
export const partitionOf = (micros: number | null): string | null =>
  micros === null ? null : new Date(Math.floor(micros / 1000)).toISOString().slice(0, 10);

export interface DayRange {
  /** First day, inclusive, and last day, exclusive. */
  readonly from: string;
  readonly to: string;
}

/**
 * Sorted, disjoint ranges that cover the dates. Past `limit` ranges the narrowest gaps are closed: the predicate then
 * covers days without rows of the batch, which costs a scan of them and changes nothing.
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
    ranges.push({ from: dateOf(days[first] as number), to: dateOf((days[index] as number) + 1) });
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

const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);
