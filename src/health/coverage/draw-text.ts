/** Coverage as text for a terminal: a bar a day, as long as the day has calls. Pure. */
import { nounOf } from '../../lib/count-of.ts';
import { dateOf } from '../../lib/day.ts';
import { formatCount, formatSpan } from '../format.ts';
import { type Coverage, coverageStates, stateSigns } from './coverage.ts';

type CoverageDay = Coverage['days'][number];

const formatShare = (part: number, whole: number) => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`);
/** A bar of `length` characters, its states in the order best to worst. */
const drawBar = (shares: CoverageDay['shares'], length: number): string => {
  let bar = '';
  let drawn = 0;
  for (const state of [...coverageStates].reverse()) {
    drawn += shares[state];
    // A state that holds for any part of the day shows at least once.
    const upTo = Math.max(Math.round(drawn * length), bar.length + (shares[state] > 0 ? 1 : 0));
    bar += stateSigns[state].block.repeat(Math.max(0, Math.min(length, upTo) - bar.length));
  }
  // The worst must show, however short the bar.
  const worst = coverageStates.find((state) => shares[state] > 0) ?? 'unread';
  return bar.slice(0, length - 1) + stateSigns[worst].block;
};

const describeDay = (one: CoverageDay): string =>
  one.excludedCalls === 0
    ? describeState(one)
    : `${describeState(one)}, ${formatCalls(one.excludedCalls)} aged out or erased`;

const formatCalls = (count: number): string => `${formatCount(count)} ${nounOf(count, 'call')}`;

const describeState = (one: CoverageDay): string => {
  if (one.state === 'healed') return `healed (${formatCalls(one.healedCalls)})`;
  const isPartly = one.shares.unread > 0 && one.shares.unread < 1;
  return `${stateSigns[one.state].name}${isPartly ? `, ${formatShare(one.shares.unread, 1)} unread` : ''}`;
};

/** @param width characters of a line. */
export const drawCoverage = (coverage: Coverage, width = 100): string => {
  const space = Math.max(8, width - 58);
  const most = Math.max(1, ...coverage.days.map((one) => one.deliveries.calls));
  const lines = coverage.days.map((one) => {
    const length = Math.max(1, Math.round((one.deliveries.calls / most) * space));
    const bar = drawBar(one.shares, length).padEnd(space);
    return `${dateOf(one.from / 1000)}  ${bar} ${formatCount(one.deliveries.calls).padStart(9)}  ${describeDay(one)}`;
  });
  const legend = Object.values(stateSigns)
    .reverse()
    .map(({ name, block }) => `${block} ${name}`);
  return [
    `Days (UTC) by the calls' own time; warehouses: ${coverage.warehouses.join(', ')}`,
    '',
    ...lines,
    '',
    legend.join('   '),
    '',
    ...describeDeliveries(coverage),
  ].join('\n');
};

/** How calls arrived, and how many webhooks were lost. */
const describeDeliveries = ({ deliveries, webhooks }: Coverage): string[] => {
  const { calls } = deliveries;
  const ways = [
    ['webhook and poll', deliveries.both],
    ['poll only', deliveries.pollOnly],
    ['webhook only', deliveries.webhookOnly],
    ['import only', deliveries.importOnly],
  ] as const;
  const lines = [
    `Calls: ${formatCount(calls)}`,
    ...ways.map(
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
      `lag p50 ${formatSpan(webhooks.lagP50)}, p95 ${formatSpan(webhooks.lagP95)}`,
  ];
};
