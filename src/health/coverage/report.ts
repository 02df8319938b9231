/** The facts of a month for auditors: its days by warehouse, and everything else that happened in it. */
import { dateOf } from '../../lib/timestamps.ts';
import type { Queryable } from '../../postgres/database.ts';
import { counts, type DayComparisons, readComparisons, readMonth } from '../../store/status/month.ts';
import { listDayRows, readCoverage } from './coverage.ts';

export type Report = Awaited<ReturnType<typeof readReport>>;

/** Whether a day counts as proven: healed differences are none. */
export const isProven = ({ state }: Pick<Report['days'][number], 'state'>) => state === 'proven' || state === 'healed';

/** Of a day without a comparison of its own. */
const unknown = Object.fromEntries(counts.map((name) => [name, null])) as Record<keyof DayComparisons, null>;

/**
 * Counts by UTC day of the calls' own time, and everything else by the time at which it happened.
 * @param input.range of the month, in microseconds; it ends now at the latest.
 */
export const readReport = async (
  db: Queryable,
  input: Parameters<typeof readCoverage>[1] & { readonly version: string },
) => {
  const { range, version, now } = input;
  const coverage = await readCoverage(db, input);
  const { expected, lost } = coverage.webhooks;
  const compared = await readComparisons(db, range);
  const countsOf = new Map<string, DayComparisons>(
    compared.map(({ day, warehouse, ...counts }) => [`${dateOf(day / 1000)} ${warehouse}`, counts]),
  );
  return {
    callsync: version,
    month: dateOf(range.from / 1000).slice(0, 7),
    made_at: new Date(now / 1000).toISOString(),
    days: listDayRows(coverage).map((row) => ({ ...row, ...(countsOf.get(`${row.day} ${row.warehouse}`) ?? unknown) })),
    /** Calls that should have come by webhook and did not; all of them came by polling. */
    webhooks: { expected, lost },
    ...(await readMonth(db, range)),
  };
};
