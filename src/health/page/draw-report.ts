/** The report of a month as one page that loads nothing: for screens, light and dark, and for A4. */

import { formatCount, formatSpan } from '../../lib/count-of.ts';
import type { DayComparisons } from '../../store/status/month.ts';
import { stateSigns } from '../coverage/coverage.ts';
import { isProven, type Report } from '../coverage/report.ts';
import { type Columns, Html, html, table } from './html.ts';

const style = `:root { color-scheme: light dark; --text: #1a1d21; --soft: #555e68; --line: #d5dae0; --page: #fff; --bad: #a4262c; }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --soft: #a3adb8; --line: #3a4149; --page: #16191d; --bad: #ff8f8f; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; break-after: avoid; }
dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; } dt { color: var(--soft); } dd { margin: 0; font-size: 1.2rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; vertical-align: top; overflow-wrap: break-word; } tbody th { white-space: nowrap; }
thead th { color: var(--soft); } tr { break-inside: avoid; } .open { color: var(--bad); }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr 1fr; } }
@page { size: A4; margin: 15mm; }
@media print { :root { --text: #000; --soft: #444; --line: #bbb; --page: #fff; --bad: #a4262c; } body { padding: 0; max-width: none; font-size: 9pt; } dd { font-size: 11pt; } table { font-size: 7.5pt; } }`;

type Day = Report['days'][number];

const count = (value: number | null): string => (value === null ? '–' : formatCount(value));

export const countColumns: Columns<Readonly<Record<keyof DayComparisons, number | null>>> = {
  Listed: (one) => count(one.calls_listed),
  Found: (one) => count(one.calls_found),
  Excluded: (one) => count(one.excluded),
  Missing: (one) => count(one.missing),
  Different: (one) => count(one.different),
  Healed: (one) => count(one.healed),
  Deleted: (one) => count(one.deleted),
};

const dayColumns: Columns<Day> = {
  'Day (UTC)': ({ day }) => day,
  Warehouse: ({ warehouse }) => warehouse,
  State: (day) =>
    isProven(day) ? stateSigns[day.state].name : html`<strong class="open">${stateSigns[day.state].name}</strong>`,
  Calls: ({ calls }) => formatCount(calls),
  ...countColumns,
};

const section = <Row>(title: string, columns: Columns<Row>, rows: readonly Row[]): Html =>
  html`<h2>${title}</h2>${rows.length === 0 ? html`<p>None.</p>` : table(title, columns, rows)}`;

/** @param data element with the signed report, put in as it is */
export const drawReport = (report: Report, data: string): string => {
  const { days, webhooks, erasures, holds } = report;
  const figures = {
    'Days proven': `${days.filter(isProven).length} of ${days.length}`,
    'Differences found': formatCount(days.reduce((sum, one) => sum + (one.missing ?? 0) + (one.different ?? 0), 0)),
    'Differences healed': formatCount(days.reduce((sum, one) => sum + (one.healed ?? 0), 0)),
    'Webhooks lost': `${formatCount(webhooks.lost)} of ${formatCount(webhooks.expected)}`,
    Erasures: `${formatCount(erasures.receipts)} (${formatCount(erasures.calls)} calls)`,
    'Legal holds now': `${formatCount(holds.now)} (${holds.put_on} put on, ${holds.taken_off} taken off)`,
    Restores: formatCount(report.restores.length),
    'Made (UTC)': report.made_at.slice(0, 16).replace('T', ' '),
  };
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>callsync report ${report.month}</title><style>${new Html(style)}</style></head><body><main><h1>Report of ${report.month}</h1><dl>${Object.entries(figures).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
${section('Days', dayColumns, days)}
${section('Deliveries of webhooks', { Outcome: ([outcome]) => outcome, Count: ([, count]) => formatCount(count) }, Object.entries(report.deliveries))}
${section('Delay until visible', { Warehouse: (one) => one.warehouse, Deliveries: (one) => formatCount(one.deliveries), Median: (one) => formatSpan(one.p50), '95 %': (one) => formatSpan(one.p95) }, report.delay)}
${section('Restores and new ledgers', { 'Time (UTC)': ({ at }) => at, Epoch: ({ epoch }) => epoch, Reason: ({ reason }) => reason }, report.restores)}
${section('Events', { 'Time (UTC)': ({ at }) => at, Kind: ({ kind }) => kind, Event: ({ what }) => what }, report.events)}
<p>The oldest event of the store is of ${report.oldest_event ?? 'no time'}; ${formatCount(report.events_left_out)} events of the month are left out.</p>
<p>callsync ${report.callsync} made this page. <code>callsync report verify FILE --public-key PEM</code> checks its signature.</p></main>${new Html(data)}</body></html>
`.text;
};
