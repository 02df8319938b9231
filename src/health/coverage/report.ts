/** The facts of a month for auditors: its days by warehouse, and everything else that happened in it. */
import { dateOf } from '../../lib/timestamps.ts';
import type { Queryable } from '../../postgres/database.ts';
import { readMonth } from '../../store/status/month.ts';
import type { StoredVerdict } from '../../store/windows/verdicts.ts';
import { buildCoverage, readCoverageInput, within } from './coverage.ts';

export type Report = Awaited<ReturnType<typeof readReport>>;

const counted = ['calls_listed', 'calls_found', 'excluded', 'missing', 'different', 'healed', 'deleted'] as const;

export type VerdictCounts = Readonly<Record<(typeof counted)[number], number>>;

const sumOf = (verdicts: readonly StoredVerdict[]) =>
  Object.fromEntries(
    counted.map((name) => [name, verdicts.reduce((sum, one) => sum + one[name], 0)]),
  ) as unknown as VerdictCounts;

/**
 * Counts by UTC day of the calls' own time, and everything else by the time at which it happened.
 * @param input.range of the month, in microseconds; it ends now at the latest.
 */
export const readReport = async (
  db: Queryable,
  input: Parameters<typeof readCoverageInput>[1] & { readonly version: string },
) => {
  const { range, warehouses, version, now } = input;
  const covered = await readCoverageInput(db, input);
  const { days, webhooks } = buildCoverage(covered);
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
        ...sumOf(within(day, covered.verdicts).filter((one) => one.warehouse === warehouse)),
      })),
    ),
    /** Calls that should have come by webhook and did not; all of them came by polling. */
    webhooks: { expected: webhooks.expected, lost: webhooks.lost },
    ...(await readMonth(db, range)),
  };
};
