/** The report of a month as one page that loads nothing: for screens, light and dark, and for A4. */

import { formatCount, formatSpan } from '../../lib/count-of.ts';
import { counts, type DayComparisons } from '../../store/status/month.ts';
import { stateSigns } from '../coverage/coverage.ts';
import { isProven, type Report } from '../coverage/report.ts';
import { style } from './assets.ts';
import { type Columns, Html, html, table } from './html.ts';

const forPaper = `@page { size: A4; margin: 15mm; }
h2 { break-after: avoid; } tr { break-inside: avoid; } tbody th { white-space: nowrap; }
@media print { :root { color-scheme: light; --text: #000; --soft: #444; --line: #bbb; --page: #fff; } body { padding: 0; max-width: none; font-size: 9pt; } .figures strong { font-size: 11pt; } table { font-size: 7.5pt; } td span[class] { color: #000; background: none; } }`;

const count = (value: number | null): string => (value === null ? '–' : formatCount(value));

/** `calls_listed` is headed by Listed. */
const headOf = (name: string): string => name.replace(/^(calls_)?./, (begin) => begin.slice(-1).toUpperCase());
export const countColumns: Columns<Readonly<Record<keyof DayComparisons, number | null>>> = Object.fromEntries(
  counts.map((name) => [headOf(name), (one) => count(one[name])]),
);

const dayColumns: Columns<Report['days'][number]> = {
  'Day (UTC)': ({ day }) => day,
  Warehouse: ({ warehouse }) => warehouse,
  State: ({ state }) => html`<span class="${state}">${stateSigns[state].name}</span>`,
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
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>callsync report ${report.month}</title><style>${new Html(style)}${new Html(forPaper)}</style></head><body><main><h1>Report of ${report.month}</h1><dl class="figures">${Object.entries(figures).map(([name, value]) => html`<div><dt>${name}</dt><dd><strong>${value}</strong></dd></div>`)}</dl>
${section('Days', dayColumns, days)}
${section('Deliveries of webhooks', { Outcome: ([outcome]) => outcome, Count: ([, count]) => formatCount(count) }, Object.entries(report.deliveries))}
${section('Delay until visible', { Warehouse: (one) => one.warehouse, Deliveries: (one) => formatCount(one.deliveries), Median: (one) => formatSpan(one.p50), '95 %': (one) => formatSpan(one.p95) }, report.delay)}
${section('Restores and new ledgers', { 'Time (UTC)': ({ at }) => at, Epoch: ({ epoch }) => epoch, Reason: ({ reason }) => reason }, report.restores)}
${section('Events', { 'Time (UTC)': ({ at }) => at, Kind: ({ kind }) => kind, Event: ({ what }) => what }, report.events)}
<p>The oldest event of the store is of ${report.oldest_event ?? 'no time'}; ${formatCount(report.events_left_out)} events of the month are left out.</p>
<p>callsync ${report.callsync} made this page. <code>callsync report verify FILE --public-key PEM</code> checks its signature.</p></main>${new Html(data)}</body></html>
`.text;
};
