/** State of each day per warehouse (proven, healed, unproven or unread), from verdicts and read ranges. */

import { formatCount, formatSpan, nounOf } from '../../lib/count-of.ts';
import { type Interval, intersect, lengthOf, subtract } from '../../lib/intervals.ts';
import { beginOfDay, dateOf, dayMicros as day } from '../../lib/timestamps.ts';
import type { Queryable } from '../../postgres/database.ts';
import type { DayDeliveries, DeliveryStatistics, WebhookQuality } from '../../store/delivery/delivery-statistics.ts';
import { measureWebhooks, readDeliveryStatistics } from '../../store/delivery/delivery-statistics.ts';
import {
  isWithdrawn,
  latestVerdicts,
  type StoredVerdict,
  type VerdictOutcome,
  windowOf,
} from '../../store/windows/verdicts.ts';
import { listReadRanges } from '../../store/windows/windows.ts';

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

/** From worst to best: the name, and a sign that is readable without colours too. */
export const stateSigns = {
  suspicious_empty: { name: 'suspiciously empty', mark: '!' },
  unread: { name: 'unread', mark: '·' },
  unproven: { name: 'unproven', mark: '?' },
  read: { name: 'read, not compared yet', mark: '○' },
  healed: { name: 'healed', mark: '+' },
  proven: { name: 'proven', mark: '✓' },
} as const satisfies Readonly<Record<VerdictOutcome, object>> & Readonly<Record<string, object>>;
export const coverageStates = Object.keys(stateSigns) as readonly CoverageState[];
const noDeliveries: DeliveryStatistics = { calls: 0, both: 0, pollOnly: 0, webhookOnly: 0, importOnly: 0, missing: 0 };

type Painted = Record<CoverageState, readonly Interval[]>;

/** Lays the verdicts of one warehouse over each other. */
export const paint = (input: Omit<CoverageInput, 'deliveries' | 'webhooks'>, warehouse: string): Painted => {
  const painted: Painted = { suspicious_empty: [], unread: [], unproven: [], read: [], healed: [], proven: [] };
  for (const verdict of input.verdicts.filter((one) => one.warehouse === warehouse)) {
    const range = windowOf(verdict);
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

/** The verdicts whose window begins in a range. */
const within = ({ from, to }: Interval, verdicts: readonly StoredVerdict[]): StoredVerdict[] =>
  verdicts.filter((one) => one.window_from >= from && one.window_from < to);

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
    const mine = within(cell, verdicts);
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
  for (let start = beginOfDay(from); start < to; start += day) days.push(dayFrom(start));
  const deliveries = days.reduce((sum, one) => addDeliveries(sum, one.deliveries), noDeliveries);
  return { from, to, warehouses, days, deliveries, webhooks };
};

/** A row for each day and warehouse. */
export const listDayRows = ({ days, warehouses }: Pick<Coverage, 'days' | 'warehouses'>) =>
  days.flatMap((one) =>
    warehouses.map((warehouse) => ({
      /** `YYYY-MM-DD`, UTC. */
      day: dateOf(one.from / 1000),
      warehouse,
      state: one.byWarehouse[warehouse] ?? 'unread',
      calls: one.deliveries.calls,
    })),
  );

/** A delivery and its one retry have had their chance after this. */
const deliveryTime = 120_000_000;

interface CoverageQuestion {
  readonly range: Interval;
  readonly warehouses: readonly string[];
  readonly now: number;
  readonly webhooksSince?: number;
}

/**
 * @param input.range microseconds, by the calls' own time. @param input.now microseconds; ends the range.
 * @param input.webhooksSince judges webhooks from here on instead of from the first one ever received.
 */
export const readCoverage = async (db: Queryable, input: CoverageQuestion): Promise<Coverage> => {
  const range = { from: input.range.from, to: Math.max(input.range.from, Math.min(input.range.to, input.now)) };
  return buildCoverage({
    ...range,
    warehouses: input.warehouses,
    read: await listReadRanges(db, range),
    verdicts: await latestVerdicts(db, range),
    deliveries: await readDeliveryStatistics(db, range),
    webhooks: await measureWebhooks(db, { ...range, until: input.now - deliveryTime, since: input.webhooksSince }),
  });
};

// Coverage as text for a terminal.

type CoverageDay = Coverage['days'][number];

const formatShare = (part: number, whole: number) => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`);
const describeDay = (one: CoverageDay): string =>
  `${describeState(one)}${one.excludedCalls === 0 ? '' : `, ${formatCalls(one.excludedCalls)} aged out or erased`}`;

const formatCalls = (count: number): string => `${formatCount(count)} ${nounOf(count, 'call')}`;

const describeState = (one: CoverageDay): string => {
  if (one.state === 'healed') return `healed (${formatCalls(one.healedCalls)})`;
  const { proven, healed, unread } = one.shares;
  const parts = Object.entries({ proven: proven + healed, unread }).filter(([, share]) => share > 0 && share < 1);
  return [stateSigns[one.state].name, ...parts.map(([name, share]) => `${formatShare(share, 1)} ${name}`)].join(', ');
};

/** A line a day, and how the calls arrived. */
export const drawCoverage = (coverage: Coverage): string =>
  [
    `Days (UTC) by the calls' own time; warehouses: ${coverage.warehouses.join(', ')}`,
    '',
    ...coverage.days.map((one) => {
      const calls = formatCount(one.deliveries.calls).padStart(9);
      return `${dateOf(one.from / 1000)}  ${calls}  ${stateSigns[one.state].mark} ${describeDay(one)}`;
    }),
    '',
    ...describeDeliveries(coverage),
  ].join('\n');

/** How calls arrived, and how many webhooks were lost. */
const describeDeliveries = ({ deliveries, webhooks }: Coverage): string[] => {
  const { calls, both, pollOnly, webhookOnly, importOnly } = deliveries;
  const ways = {
    'webhook and poll': both,
    'poll only': pollOnly,
    'webhook only': webhookOnly,
    'import only': importOnly,
  };
  const lines = [
    `Calls: ${formatCount(calls)}`,
    ...Object.entries(ways).map(
      ([way, count]) => `  ${way.padEnd(17)} ${formatCount(count).padStart(9)}  ${formatShare(count, calls)}`,
    ),
  ];
  if (deliveries.missing > 0) lines.push(`No longer listed by the service: ${formatCount(deliveries.missing)}`);
  if (webhooks.since === null) return [...lines, 'No webhook received yet'];
  const since = new Date(webhooks.since / 1000).toISOString().slice(0, 16).replace('T', ' ');
  return [
    ...lines,
    `Webhooks since ${since} UTC: ${formatShare(webhooks.lost, webhooks.expected)} lost ` +
      `(${formatCount(webhooks.lost)} of ${formatCalls(webhooks.expected)}), ` +
      (webhooks.lagP50 === null
        ? 'lag unknown: no delivered call has an end of processing'
        : `lag p50 ${formatSpan(webhooks.lagP50)}, p95 ${formatSpan(webhooks.lagP95)}`),
  ];
};
