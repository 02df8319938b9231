/** The facts of a month for auditors: its days by warehouse, and everything else that happened in it. */
import { dateOf } from '../../lib/timestamps.ts';
import type { Queryable } from '../../postgres/database.ts';
import { type DayComparisons, readComparisons, readMonth } from '../../store/status/month.ts';
import { readCoverage } from './coverage.ts';

export type Report = Awaited<ReturnType<typeof readReport>>;

/** Whether a day counts as proven: healed differences are none. */
export const isProven = ({ state }: Pick<Report['days'][number], 'state'>): boolean =>
  state === 'proven' || state === 'healed';

/** Of a day without a comparison of its own. */
const unknown: Readonly<Record<keyof DayComparisons, null>> = {
  calls_listed: null,
  calls_found: null,
  excluded: null,
  missing: null,
  different: null,
  healed: null,
  deleted: null,
};

/**
 * Counts by UTC day of the calls' own time, and everything else by the time at which it happened.
 * @param input.range of the month, in microseconds; it ends now at the latest.
 */
export const readReport = async (
  db: Queryable,
  input: Parameters<typeof readCoverage>[1] & { readonly version: string },
) => {
  const { range, warehouses, version, now } = input;
  const { days, webhooks } = await readCoverage(db, input);
  const compared = await readComparisons(db, range);
  const countsOf = new Map<string, DayComparisons>(
    compared.map(({ day, warehouse, ...counts }) => [`${day} ${warehouse}`, counts]),
  );
  return {
    callsync: version,
    month: dateOf(range.from / 1000).slice(0, 7),
    made_at: new Date(now / 1000).toISOString(),
    days: days.flatMap((day) =>
      warehouses.map((warehouse) => ({
        day: dateOf(day.from / 1000),
        warehouse,
        state: day.byWarehouse[warehouse] ?? 'unread',
        calls: day.deliveries.calls,
        ...(countsOf.get(`${day.from} ${warehouse}`) ?? unknown),
      })),
    ),
    /** Calls that should have come by webhook and did not; all of them came by polling. */
    webhooks: { expected: webhooks.expected, lost: webhooks.lost },
    ...(await readMonth(db, range)),
  };
};
