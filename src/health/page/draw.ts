/**
 * The page as HTML and SVG: sections, each under an id by which the script replaces it, and whole documents. They load a
 * stylesheet and a script of this server, nothing else.
 */
import type { StoredVerdict } from '../../store/windows/verdicts.ts';
import { type CoverageState, coverageStates, stateNames } from '../coverage/coverage.ts';
import { formatCount, formatInstant, formatShare, formatSpan } from '../format.ts';
import type { StepLatency, Waiting, WarehouseHealth } from '../read-health.ts';
import type { ActionName } from './access.ts';
import { type Html, html, type Part } from './html.ts';
import { type PageBackfill, type PageDay, type PageState, sumUp, type UsedLimit } from './state.ts';

export interface Section {
  readonly id: string;
  readonly content: Html;
}

const section = (id: string, title: string, content: Part): Section => ({
  id,
  content: html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${content}</section>`,
});

/** Cells by their heads; the first is the head of its row. It scrolls by itself where it does not fit, so it can be focused. */
type Columns<Row> = Readonly<Record<string, (row: Row) => Part>>;
const table = <Row>(title: string, columns: Columns<Row>, rows: readonly Row[], none: string): Html => {
  if (rows.length === 0) return html`<p>${none}</p>`;
  const [first, ...others] = Object.values(columns);
  const heads = Object.keys(columns).map((head) => html`<th scope="col">${head}</th>`);
  const body = rows.map(
    (row) => html`<tr><th scope="row">${first?.(row)}</th>${others.map((cell) => html`<td>${cell(row)}</td>`)}</tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title} as a table"><table><thead><tr>${heads}</tr></thead><tbody>${body}</tbody></table></div>`;
};

const command = (text: string): Html =>
  html`<span class="command"><code>${text}</code> <button type="button" class="copy" data-copy="${text}" aria-label="Copy ${text}">Copy</button></span>`;

const headline = (state: PageState): Section => {
  const { mood, word, sentence, wrong } = sumUp(state);
  const [worst, ...others] = wrong.map(
    (one) =>
      html`${one.summary}${one.since !== null && html` Since <time datetime="${new Date(one.since).toISOString()}">${formatInstant(one.since)}</time> UTC.`} ${command(one.command)}`,
  );
  return {
    id: 'headline',
    content: html`<section id="headline" class="headline ${mood}" aria-live="polite"><p><strong>${word}.</strong> ${sentence ?? worst}</p>${others.length > 0 && html`<ul>${others.map((other) => html`<li>${other}</li>`)}</ul>`}</section>`,
  };
};

const coverage = ({ days }: PageState): Section =>
  section(
    'coverage',
    'Coverage by day (UTC)',
    html`<ul class="legend">${[...coverageStates].reverse().map((state) => html`<li><span class="chip ${state}" aria-hidden="true">${stateMarks[state]}</span>${stateNames[state]}</li>`)}</ul><div class="calendars">${Object.entries(days).map(([name, all]) => html`<div><h3>${name}</h3>${drawCalendar(name, all)}</div>`)}</div>`,
  );

const warehouses = ({ health, at }: PageState): Section => {
  const columns: Columns<WarehouseHealth> = {
    Warehouse: ({ name }) => name,
    'Newest call': ({ newestVisible }) => formatAge(at, newestVisible, 'old', '–'),
    Pending: ({ pending }) => formatCount(pending),
    'Oldest change': ({ liveOldestAge }) => formatSpan(liveOldestAge),
    'Last load': ({ lastLoadAt }) => formatAge(at, lastLoadAt, 'ago', 'never'),
    'Last failure': ({ lastError }) => lastError ?? '–',
  };
  const none = 'No warehouse is configured.';
  return section('warehouses', 'Warehouses', table('Warehouses', columns, health?.warehouses ?? [], none));
};

const formatAge = (at: number, then: number | null, word: string, none: string): string =>
  then === null ? none : `${formatSpan(Math.max(0, (at - then) / 1000))} ${word}`;

const latencyColumns: Columns<StepLatency> = {
  Step: ({ step }) => step,
  Deliveries: ({ calls }) => formatCount(calls),
  'Half within': ({ p50 }) => formatSpan(p50),
  '95 % within': ({ p95 }) => formatSpan(p95),
};
const latency = ({ funnel }: PageState): Section => {
  const drawn = table('Latency of the last deliveries', latencyColumns, funnel, 'No delivery has arrived yet.');
  return section('latency', 'From arrival to visible', drawn);
};

type Queue = readonly [name: string, queue: Waiting | null | undefined, then: string];
const waitingColumns: Columns<Queue> = {
  Where: ([name]) => name,
  Count: ([, queue]) => formatCount(queue?.count ?? 0),
  Oldest: ([, queue]) => formatSpan(queue?.oldestAge ?? null),
  Command: ([, , then]) => command(then),
};
const waiting = ({ health, spool }: PageState): Section => {
  const queues: readonly Queue[] = [
    ['Spool', spool, 'callsync doctor'],
    ['Inbox', health?.inbox, 'callsync status'],
    ['Quarantine', health?.quarantine, 'callsync quarantine list'],
    ['Rereads', health?.rereads, 'callsync status'],
    ['Windows with a problem', health && { count: health.openProblems, oldestAge: null }, 'callsync status'],
  ];
  const known = queues.filter(([, queue]) => queue != null);
  return section('waiting', 'What waits', table('What waits', waitingColumns, known, 'Nothing.'));
};

const drawProgress = ({ name, progress }: PageBackfill): Part =>
  progress === null
    ? '–'
    : html`<progress max="1" value="${progress.share.toFixed(4)}" aria-label="Progress of ${name}"></progress> ${formatShare(progress.share)}, ${formatCount(progress.windows)} windows, ${formatCount(progress.calls)} calls`;

/** Its state, and what can be done about it. */
const drawState = ({ name, status, progress }: PageBackfill, formToken: string | null): Part =>
  progress === null || progress.state === 'done'
    ? (progress?.state ?? status.toLowerCase())
    : [progress.state, ' ', formToken !== null && drawToggle(formToken, name, progress.state)];

const backfills = ({ backfills: all }: PageState, formToken: string | null): Section => {
  const columns: Columns<PageBackfill> = {
    Name: ({ name, link }) => (link === null ? name : html`<a href="${link}">${name}</a>`),
    State: (one) => drawState(one, formToken),
    Progress: drawProgress,
    Rate: ({ progress }) => (progress === null ? '–' : `${formatCount(progress.callsPerSecond)} calls/s`),
    Left: ({ progress }) => formatSpan(progress?.secondsLeft ?? null),
    'Started (UTC)': ({ startedAt }) => formatInstant(Date.parse(startedAt)),
  };
  const away = html`<p>Temporal does not answer: ${command('callsync doctor')}</p>`;
  return section('backfills', 'Backfills', all === null ? away : table('Backfills', columns, all, 'None yet.'));
};

const limitColumns: Columns<UsedLimit> = {
  Limit: ({ what }) => what,
  Used: ({ used, limit }) => (limit === null ? formatCount(used) : `${formatCount(used)} of ${formatCount(limit)}`),
  Share: ({ what, used, limit }) =>
    limit === null
      ? 'no limit'
      : html`<meter min="0" max="1" high="0.8" value="${Math.min(1, used / limit).toFixed(4)}" aria-label="${what}">${formatShare(used / limit)}</meter>`,
  Note: ({ note }) => note,
};
const limits = ({ limits: all }: PageState): Section =>
  section('limits', 'Limits', table('Limits', limitColumns, all, 'None.'));

const ways = ({ ways: { both, pollOnly, webhookOnly, importOnly } }: PageState): Section => {
  const sum = both + pollOnly + webhookOnly + importOnly;
  const columns: Columns<readonly [string, number]> = {
    Way: ([way]) => way,
    Calls: ([, count]) => formatCount(count),
    Share: ([, count]) => (sum === 0 ? '–' : formatShare(count / sum)),
  };
  const counts = {
    'Webhook and poll': both,
    'Poll only': pollOnly,
    'Webhook only': webhookOnly,
    'Import only': importOnly,
  };
  return section('ways', 'How calls came', table('How calls came', columns, Object.entries(counts), ''));
};

const events = ({ events: all }: PageState): Section =>
  section(
    'events',
    'Timeline',
    all.length === 0
      ? html`<p>Nothing has happened yet.</p>`
      : html`<ol class="timeline">${all.map((one) => html`<li><time datetime="${new Date(one.at).toISOString()}">${formatInstant(one.at)}</time> <span class="kind">${one.kind}</span> ${one.what}${one.actor !== null && html` <span class="actor">by ${one.actor}</span>`}</li>`)}</ol>`,
  );

/** @param formToken for the forms of actions; null = nobody may act. */
export const drawSections = (state: PageState, formToken: string | null): readonly Section[] => [
  ...[headline, coverage, warehouses, waiting].map((draw) => draw(state)),
  backfills(state, formToken),
  ...(formToken === null ? [] : [section('actions', 'Actions', drawForms(formToken))]),
  ...[latency, limits, ways, events].map((draw) => draw(state)),
];

/** Told apart without colours too. */
const stateMarks: Readonly<Record<CoverageState, string>> = {
  proven: '✓',
  healed: '+',
  unproven: '?',
  unread: '·',
  suspicious_empty: '!',
};

const size = 36;
const gap = 4;
const head = 18;
const weekdays = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'];
const step = size + gap;

/** 0 = Monday. */
const weekdayOf = (date: string): number => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;

const drawDay = (warehouse: string, day: PageDay, cell: number): Html => {
  const x = (cell % 7) * step;
  const y = head + Math.floor(cell / 7) * step;
  const label = `${day.date}: ${stateNames[day.state]}, ${formatCount(day.calls)} calls`;
  // Date and mark are drawn outside the link, whose label says the same in words.
  return html`<a href="/verdicts?warehouse=${encodeURIComponent(warehouse)}&amp;day=${day.date}" aria-label="${label}"><rect class="day ${day.state}" x="${x}" y="${y}" width="${size}" height="${size}" rx="4"/><title>${label}</title></a><g aria-hidden="true"><text class="on" x="${x + 4}" y="${y + 13}">${Number(day.date.slice(8))}</text><text class="on mark" x="${x + size - 5}" y="${y + size - 7}">${stateMarks[day.state]}</text></g>`;
};

const drawCalendar = (name: string, days: readonly PageDay[]): Html => {
  const [first] = days;
  if (first === undefined) return html`<p>Nothing is read yet.</p>`;
  const offset = weekdayOf(first.date);
  const height = head + Math.ceil((offset + days.length) / 7) * step;
  const heads = weekdays.map(
    (weekday, index) => html`<text class="head" x="${index * step + 4}" y="11">${weekday}</text>`,
  );
  const cells = days.map((day, index) => drawDay(name, day, offset + index));
  return html`<svg class="calendar" viewBox="0 0 ${7 * step} ${height}" width="${7 * step}" height="${height}" role="group" aria-label="Days of ${name}"><g aria-hidden="true">${heads}</g>${cells}</svg>`;
};

const form = (token: string, action: ActionName, content: Part): Html =>
  html`<form method="post" action="/actions/${action}"><input type="hidden" name="form" value="${token}">${content}</form>`;

/** Pauses or resumes one backfill. */
const drawToggle = (token: string, name: string, state: 'running' | 'paused'): Html => {
  const [action, word] = state === 'running' ? (['pause', 'Pause'] as const) : (['resume', 'Resume'] as const);
  return form(
    token,
    action,
    html`<input type="hidden" name="name" value="${name}"><button aria-label="${word} ${name}">${word}</button>`,
  );
};

const drawForms = (token: string): Html =>
  html`${form(
    token,
    'reconcile',
    html`<label>Day (UTC)<input type="date" name="day" required></label><button>Reconcile the day</button>`,
  )}${form(
    token,
    'backfill',
    html`<label>From (UTC)<input type="date" name="from" required></label><label>To, exclusive<input type="date" name="to" required></label><button>Backfill</button>`,
  )}${form(
    token,
    'replay',
    html`<label>Number in quarantine<input name="id" inputmode="numeric" pattern="[0-9]+" placeholder="all open"></label><button>Replay</button>`,
  )}`;

const frame = (title: string, body: Html, live: boolean): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">${live && html`<script src="/script.js" defer></script>`}</head><body>${body}</body></html>
`.text;

export const drawPage = (state: PageState, sections: readonly Section[]): string =>
  frame(
    'callsync',
    html`<a class="skip" href="#waiting">Skip the calendar</a><header><h1>callsync</h1><p id="live">Drawn ${formatInstant(state.at)} UTC</p></header><main>${sections.map(({ content }) => content)}</main><footer><p>callsync ${state.version}; ${formatCount(state.health?.calls ?? 0)} calls in the ledger</p></footer>`,
    true,
  );

const minute = (micros: number): string => formatInstant(micros / 1000).slice(5, 16);

export const drawVerdicts = (
  input: { readonly warehouse: string; readonly day: string },
  verdicts: readonly StoredVerdict[],
): string => {
  const columns: Columns<StoredVerdict> = {
    'Window (UTC)': (one) => `${minute(one.window_from)} – ${minute(one.window_to)}`,
    Outcome: (one) => one.outcome.replace('_', ' '),
    Level: (one) => `${one.level}, ${one.warehouse_level}`,
    Listed: (one) => formatCount(one.calls_listed),
    Found: (one) => formatCount(one.calls_found),
    Excluded: (one) => formatCount(one.excluded),
    Missing: (one) => formatCount(one.missing),
    Different: (one) => formatCount(one.different),
    Healed: (one) => formatCount(one.healed),
    'Compared (UTC)': (one) => formatInstant(one.compared_at / 1000),
  };
  const none = html`<p>No verdict was given for this day yet. <code>callsync reconcile --from ${input.day}</code> gives one.</p>`;
  return frame(
    `Verdicts of ${input.day}`,
    html`<header><h1>Verdicts of ${input.day}, ${input.warehouse}</h1><p><a href="/">Back to the status</a></p></header><main>${verdicts.length === 0 ? none : table('Verdicts', columns, verdicts, '')}</main>`,
    false,
  );
};
