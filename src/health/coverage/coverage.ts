/** State of each day per warehouse (proven, healed, unproven or unread), from verdicts and read ranges. */
import { dayMicros as day } from '../../lib/day.ts';
import { type Interval, intersect, lengthOf, subtract } from '../../lib/intervals.ts';
import type { Queryable } from '../../postgres/database.ts';
import type { DayDeliveries, DeliveryStatistics, WebhookQuality } from '../../store/delivery/delivery-statistics.ts';
import { measureWebhooks, readDeliveryStatistics, readRanges } from '../../store/delivery/delivery-statistics.ts';
import { latestVerdicts, type StoredVerdict, type VerdictOutcome } from '../../store/windows/verdicts.ts';

/** `read`: not compared yet. `unproven`: compared, without a good verdict. */
export type CoverageState = keyof typeof stateSigns;

export type Coverage = ReturnType<typeof buildCoverage>;

interface CoverageInput extends Interval {
  readonly warehouses: readonly string[];
  /** Ranges that were read. */
  readonly read: readonly Interval[];
  /** Oldest verdict first; a later verdict overrides an earlier one. */
  readonly verdicts: readonly StoredVerdict[];
  readonly deliveries: readonly DayDeliveries[];
  readonly webhooks: WebhookQuality;
}

/** From worst to best: the name, and signs for a terminal and for the page, readable without colours too. */
export const stateSigns = {
  suspicious_empty: { name: 'suspiciously empty', block: '!', mark: '!' },
  unread: { name: 'unread', block: '░', mark: '·' },
  unproven: { name: 'unproven', block: '?', mark: '?' },
  read: { name: 'read, not compared yet', block: '▒', mark: '○' },
  healed: { name: 'healed', block: '▓', mark: '+' },
  proven: { name: 'proven', block: '█', mark: '✓' },
} as const satisfies Readonly<Record<VerdictOutcome, object>> & Readonly<Record<string, object>>;
export const coverageStates = Object.keys(stateSigns) as readonly CoverageState[];
const noDeliveries: DeliveryStatistics = { calls: 0, both: 0, pollOnly: 0, webhookOnly: 0, importOnly: 0, missing: 0 };

type Painted = Record<CoverageState, readonly Interval[]>;

/** A proof was withdrawn, because calls were sent again, cut or erased: nothing was compared since. */
const isWithdrawn = ({ outcome, calls_listed, calls_found, missing, different, excluded }: StoredVerdict): boolean =>
  outcome === 'unproven' && calls_found + missing + different === 0 && calls_listed > excluded;

/** Lays the verdicts of one warehouse over each other. */
const paint = (input: CoverageInput, warehouse: string): Painted => {
  const painted: Painted = { suspicious_empty: [], unread: [], unproven: [], read: [], healed: [], proven: [] };
  for (const verdict of input.verdicts.filter((one) => one.warehouse === warehouse)) {
    const range = { from: verdict.window_from, to: verdict.window_to };
    for (const state of coverageStates) painted[state] = subtract(painted[state], [range]);
    const state = isWithdrawn(verdict) ? 'read' : verdict.outcome;
    painted[state] = [...painted[state], range];
  }
  const judged = coverageStates.flatMap((state) => painted[state]);
  painted.read = [...painted.read, ...subtract(input.read, judged)];
  painted.unread = subtract([input], [...judged, ...painted.read]);
  return painted;
};

const stateOf = (shares: Readonly<Record<CoverageState, number>>): CoverageState => {
  if (shares.suspicious_empty > 0) return 'suspicious_empty';
  if (shares.unread >= 1) return 'unread';
  if (shares.unproven > 0) return 'unproven';
  if (shares.unread > 0 || shares.read > 0) return 'read';
  return shares.healed > 0 ? 'healed' : 'proven';
};

const byState = (share: (state: CoverageState) => number) =>
  Object.fromEntries(coverageStates.map((state) => [state, share(state)])) as Record<CoverageState, number>;

const sharesOf = (painted: Painted, cell: Interval): Record<CoverageState, number> =>
  byState((state) => lengthOf(intersect([cell], painted[state])) / (cell.to - cell.from));

const addDeliveries = (a: DeliveryStatistics, b: DeliveryStatistics): DeliveryStatistics => {
  const ways = Object.keys(noDeliveries) as (keyof DeliveryStatistics)[];
  return Object.fromEntries(ways.map((way) => [way, a[way] + b[way]])) as unknown as DeliveryStatistics;
};

export const buildCoverage = (input: CoverageInput) => {
  const { from, to, warehouses, verdicts, webhooks } = input;
  const painted = warehouses.map((warehouse) => [warehouse, paint(input, warehouse)] as const);
  const arrived = new Map(input.deliveries.map((one) => [one.from, one]));
  const dayFrom = (start: number) => {
    const cell = { from: Math.max(start, from), to: Math.min(start + day, to) };
    const each = painted.map(([warehouse, layers]) => [warehouse, sharesOf(layers, cell)] as const);
    const states = each.map(([warehouse, shares]) => [warehouse, stateOf(shares)] as const);
    const mine = verdicts.filter((one) => one.window_from >= cell.from && one.window_from < cell.to);
    const excludedOf = (warehouse: string): number =>
      mine.reduce((sum, one) => sum + (one.warehouse === warehouse ? one.excluded : 0), 0);
    return {
      ...cell,
      /** The worst of all warehouses. */
      state: coverageStates.find((state) => states.some(([, one]) => one === state)) ?? 'unread',
      /** Share of the day (as far as it has passed) in each state, over all warehouses. */
      shares: byState((state) => each.reduce((sum, [, one]) => sum + one[state], 0) / Math.max(1, each.length)),
      byWarehouse: Object.fromEntries(states),
      deliveries: arrived.get(start) ?? noDeliveries,
      /** Sums of the latest verdicts over all warehouses. */
      healedCalls: mine.reduce((sum, verdict) => sum + verdict.healed, 0),
      /**
       * Listed calls that may be nowhere, for they were erased or are too old to be kept; of the latest verdicts. The calls are the
       * same for every warehouse.
       */
      excludedCalls: Math.max(0, ...warehouses.map(excludedOf)),
    };
  };
  const days: ReturnType<typeof dayFrom>[] = [];
  for (let start = Math.floor(from / day) * day; start < to; start += day) days.push(dayFrom(start));
  const deliveries = days.reduce((sum, one) => addDeliveries(sum, one.deliveries), noDeliveries);
  return { from, to, warehouses, days, deliveries, webhooks };
};

/** A delivery and its one retry have had their chance after this. */
const deliveryTime = 120_000_000;

/**
 * @param input.range microseconds, by the calls' own time. @param input.now microseconds; ends the range.
 * @param input.webhooksSince judges webhooks from here on instead of from the first one ever received.
 */
export const readCoverage = async (
  db: Queryable,
  input: {
    readonly range: { readonly from: number; readonly to: number };
    readonly warehouses: readonly string[];
    readonly now: number;
    readonly webhooksSince?: number;
  },
): Promise<Coverage> => {
  const range = { from: input.range.from, to: Math.max(input.range.from, Math.min(input.range.to, input.now)) };
  return buildCoverage({
    ...range,
    warehouses: input.warehouses,
    read: await readRanges(db, range),
    verdicts: await latestVerdicts(db, range),
    deliveries: await readDeliveryStatistics(db, range),
    webhooks: await measureWebhooks(db, { ...range, until: input.now - deliveryTime, since: input.webhooksSince }),
  });
};
