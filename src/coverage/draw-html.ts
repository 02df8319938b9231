/** Coverage as one HTML file with a picture (inline SVG) and the figures as a table; it loads nothing. Pure. */
import { nounOf } from '../count-of.ts';
import { type Coverage, type CoverageDay, type CoverageState, coverageStates } from './coverage.ts';
import { describeDay, describeDeliveries, formatCount, formatDay, formatShare, stateNames } from './draw-text.ts';

const width = 960;
const chartHeight = 240;
const axisHeight = 24;
/** Above the bars, so that the highest number of the scale is not cut off. */
const headroom = 14;
/** A date is about so wide. */
const labelWidth = 64;
const stripHeight = 14;
/** Chosen to be told apart with any colour vision; the table says the same in words. */
const colours: Readonly<Record<CoverageState, string>> = {
  proven: '#1b7f5c',
  healed: '#2f6fb5',
  unproven: '#d99a1c',
  unread: '#b9bec7',
  suspicious_empty: '#c0392b',
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const round = (value: number): number => Math.round(value * 100) / 100;

const describe = (one: CoverageDay): string =>
  `${formatDay(one.from)}: ${describeDay(one)}, ${formatCount(one.deliveries.calls)} ${nounOf(one.deliveries.calls, 'call')}`;

/** The least round number that is not below: the top of a scale that reads well. */
const roundUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value) ?? 10) * power;
};

/** Lines across the bars, with their number of calls. */
const drawScale = (top: number): string =>
  [1, 0.5]
    .filter((share) => Number.isInteger(top * share))
    .map((share) => {
      const y = round(chartHeight * (1 - share));
      return `<line x1="0" x2="${width}" y1="${y}" y2="${y}" stroke="currentColor" stroke-opacity=".2"/><text x="0" y="${y - 3}" fill-opacity=".7">${formatCount(top * share)} calls</text>`;
    })
    .join('');

/** A bar a day, its height the calls, its colours the states; below it a strip for days without calls. */
const drawDay = (one: CoverageDay, place: { x: number; wide: number; most: number }): string => {
  const { x, wide, most } = place;
  const height = (one.deliveries.calls / most) * chartHeight;
  let bottom = chartHeight;
  const parts: string[] = [];
  for (const state of [...coverageStates].reverse()) {
    const part = height * one.shares[state];
    if (part <= 0) continue;
    bottom -= part;
    parts.push(
      `<rect x="${round(x)}" y="${round(bottom)}" width="${round(wide)}" height="${round(part)}" fill="${colours[state]}"/>`,
    );
  }
  const strip = `<rect x="${round(x)}" y="${chartHeight + 4}" width="${round(wide)}" height="${stripHeight}" fill="${colours[one.state]}"/>`;
  return `<g><title>${escapeHtml(describe(one))}</title>${parts.join('')}${strip}</g>`;
};

/** The picture alone. */
const drawCoverageSvg = (coverage: Coverage): string => {
  const { days } = coverage;
  const step = width / Math.max(1, days.length);
  const most = roundUp(days.reduce((highest, one) => Math.max(highest, one.deliveries.calls), 1));
  const every = Math.max(1, Math.ceil(days.length / 10));
  const labels = days
    .map((one, index) =>
      index % every === 0 && index * step <= width - labelWidth
        ? `<text x="${round(index * step)}" y="${chartHeight + stripHeight + axisHeight - 4}">${formatDay(one.from)}</text>`
        : '',
    )
    .join('');
  const bars = days.map((one, index) => drawDay(one, { x: index * step, wide: Math.max(1, step - 1), most })).join('');
  const height = chartHeight + stripHeight + axisHeight;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 ${-headroom} ${width} ${height + headroom}" role="img" aria-label="Coverage by day" ` +
    `font-family="sans-serif" font-size="11" fill="currentColor">${drawScale(most)}${bars}${labels}</svg>`
  );
};

const tableRow = (one: CoverageDay, warehouses: readonly string[]): string => {
  const { deliveries } = one;
  const states = warehouses.map((name) => one.byWarehouse[name] ?? 'unread');
  const cells = [
    formatCount(deliveries.calls),
    formatShare(deliveries.both, deliveries.calls),
    formatShare(deliveries.pollOnly, deliveries.calls),
    formatShare(deliveries.webhookOnly, deliveries.calls),
    formatShare(deliveries.importOnly, deliveries.calls),
  ];
  const marked = states.map((state) => `<td class="state">${mark(state)}${stateNames[state]}</td>`).join('');
  return `<tr><td>${formatDay(one.from)}</td>${marked}${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`;
};

const mark = (state: CoverageState): string => `<span style="background:${colours[state]}"></span>`;

/** Such as `26 days proven, 3 unproven`. */
const summarize = ({ days }: Coverage): string => {
  const counts = [...coverageStates]
    .reverse()
    .map((state) => [days.filter((one) => one.state === state).length, stateNames[state]] as const)
    .filter(([count]) => count > 0);
  return counts
    .map(([count, name], index) => `${count}${index === 0 ? ` day${count === 1 ? '' : 's'}` : ''} ${name}`)
    .join(', ');
};

/** Draws the days of a coverage as one page. Every text is escaped. */
export const drawCoverageHtml = (coverage: Coverage): string => {
  const heads = ['Calls', 'Webhook and poll', 'Poll only', 'Webhook only', 'Import only'];
  const legend = [...coverageStates]
    .reverse()
    .map((state) => `<li>${mark(state)}${stateNames[state]}</li>`)
    .join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Coverage ${formatDay(coverage.from)} to ${formatDay(coverage.to)}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; }
ul { list-style: none; display: flex; flex-wrap: wrap; gap: 1.5rem; padding: 0; }
span { display: inline-block; width: 1em; height: 1em; margin-right: .5em; vertical-align: -.1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid #8884; }
th:first-child, td:first-child, .state { text-align: left; }
thead th { position: sticky; top: 0; background: Canvas; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { overflow-x: auto; }
</style>
</head>
<body>
<h1>Coverage, ${formatDay(coverage.from)} to ${formatDay(coverage.to)}</h1>
<p><strong>${summarize(coverage)}.</strong> Bars are the calls of a day by their own time (UTC); their colour, and the strip
below, tell what was proven of the day in ${escapeHtml(coverage.warehouses.join(', '))}.</p>
<ul>${legend}</ul>
${drawCoverageSvg(coverage)}
<pre>${escapeHtml(describeDeliveries(coverage).join('\n'))}</pre>
<table>
<thead><tr><th>Day (UTC)</th>${coverage.warehouses.map((name) => `<th class="state">${escapeHtml(name)}</th>`).join('')}${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead>
<tbody>
${coverage.days.map((one) => tableRow(one, coverage.warehouses)).join('\n')}
</tbody>
</table>
</body>
</html>
`;
};
