/**
 * The page as HTML and SVG: sections, each under an id by which the script replaces it, and whole documents. Documents
 * load only a stylesheet and a script of this server.
 */
import { formatCount, formatInstant, formatShare, formatSpan, nounOf, secondsLeft } from '../../lib/count-of.ts';
import type { StoredVerdict } from '../../store/windows/verdicts.ts';
import { judge } from '../conditions.ts';
import { coverageStates, stateSigns } from '../coverage/coverage.ts';
import type { Reason } from '../coverage/why.ts';
import type { Waiting } from '../read-health.ts';
import { countColumns } from './draw-report.ts';
import { type Columns, type Html, html, type Part, table } from './html.ts';
import { type JudgedDay, type PageBackfill, type PageState, sumUp } from './state.ts';

type PageDay = PageState['days'][number];

type Section = { readonly id: string; readonly content: Html };

const section = (id: string, title: string, content: Part): Section => ({
  id,
  content: html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${content}</section>`,
});

/** A section with nothing to show keeps its place for later updates. */
const nothing = (id: string): Section => ({ id, content: html`<section id="${id}" hidden></section>` });

const command = (text: string): Html =>
  html`<span class="command"><code>${text}</code> <button type="button" class="copy" data-copy="${text}" aria-label="Copy ${text}">Copy</button></span>`;

const headline = (state: PageState): Section => {
  const { mood, word, sentence, wrong } = sumUp(state);
  const [worst, ...others] = wrong.map(
    (one) =>
      html`${one.summary} <span class="then">${one.since !== null && html`Since <time datetime="${new Date(one.since).toISOString()}">${formatInstant(one.since)}</time> UTC. `}Run ${command(one.command)}</span>`,
  );
  const content = html`<section id="headline" class="headline ${mood}" aria-live="polite"><p><strong>${word}.</strong> ${sentence ?? worst}</p>${others.length > 0 && html`<ul>${others.map((other) => html`<li>${other}</li>`)}</ul>`}</section>`;
  return { id: 'headline', content };
};

/** Parts of the path that a condition stops; a condition of a warehouse stops that warehouse. */
const stopped: Readonly<Record<string, readonly string[]>> = {
  worker_gone: ['Poll', 'Inbox', 'Ledger'],
  stale: ['Service', 'Poll'],
  inbox_stalled: ['Inbox'],
  webhook_refused: ['Webhook'],
  quarantine_open: ['Ledger'],
  reread_unanswered: ['Ledger'],
};

/** Name, rate and age of one part; `draw` adds the light. */
type PathPart = readonly [name: string, rate: string | false, age: string | false];

const path = ({ health, requestsAMinute, at }: PageState): Section => {
  if (health === null) return nothing('path');
  const { sync, inbox, flow, warehouses, callsPerMinute = null, syncEvery = 0 } = health;
  const alarms = judge(health);
  const light = (name: string): 'good' | 'delayed' | 'action' => {
    const own = alarms.filter(({ condition, subject }) => subject === name || stopped[condition]?.includes(name));
    if (own.length === 0) return 'good';
    return own.some(({ isUrgent, severity }) => isUrgent && severity === 'critical') ? 'action' : 'delayed';
  };
  const draw = ([name, rate, age]: PathPart): Html =>
    html`<div class="part ${light(name)}"><h3>${name}</h3><p><span class="light" aria-hidden="true"></span>${lightNames[light(name)]}</p>${rate && html`<p>${rate}</p>`}${age && html`<p>${age}</p>`}</div>`;
  const aMinute = (count: number | null | undefined, noun: string): string | false =>
    count != null && count > 0 && `${formatCount(count)} ${noun} a minute`;
  const ago = (age: number | null | undefined, before: string, after = ' ago'): string | false =>
    age != null && `${before} ${formatSpan(age)}${after}`;
  const steps: readonly (readonly PathPart[])[] = [
    [['Service', aMinute(requestsAMinute, 'requests'), ago(sync?.lag, 'listed')]],
    [
      ['Webhook', aMinute(flow.arrived, 'deliveries'), ago(flow.deliveryAge, 'last delivery')],
      [
        'Poll',
        sync !== null && `every ${formatSpan(syncEvery).replace('.0 ', ' ')}`,
        sync === null ? 'not begun' : ago(sync.watermarkAge, 'read up to'),
      ],
    ],
    [['Inbox', aMinute(flow.merged, 'merged'), ago(inbox.oldestAge, 'oldest waits', '') || 'empty']],
    [['Ledger', aMinute(callsPerMinute, 'new calls'), ago(flow.callAge, 'newest call', ' old')]],
    warehouses.map(({ name, loaded, newestVisible, pending }) => [
      name,
      aMinute(loaded, 'calls loaded'),
      [
        ago(newestVisible === null ? null : Math.max(0, at - newestVisible) / 1000, 'newest call', ' old'),
        pending > 0 && `${formatCount(pending)} pending`,
      ]
        .filter(Boolean)
        .join(', '),
    ]),
  ];
  return section(
    'path',
    'Path of the data',
    html`<ol class="path">${steps.map((parts) => html`<li>${parts.map(draw)}</li>`)}</ol>`,
  );
};
const lightNames = { good: 'works', delayed: 'attention', action: 'action required' } as const;

const figures = ({ health, provenThrough, funnel }: PageState): Section => {
  if (health === null) return nothing('figures');
  const { flow, callsPerMinute = null } = health;
  const slowest = [...funnel].sort((left, right) => (right.p95 ?? 0) - (left.p95 ?? 0))[0];
  const all: readonly (readonly [title: string, figure: string, note: string])[] = [
    [
      'Calls a minute',
      callsPerMinute === null ? '–' : formatCount(callsPerMinute),
      'new in the ledger, also by backfills',
    ],
    [
      'Arrival to visible',
      slowest === undefined ? '–' : `${formatSpan(slowest.p50)} / ${formatSpan(slowest.p95)}`,
      slowest === undefined ? 'no delivery yet' : `p50 / p95 in ${slowest.warehouse ?? 'the ledger'}`,
    ],
    ['Refused deliveries', flow.refused === 0 ? 'none' : formatCount(flow.refused), 'in the last hour'],
    ['Proven through', provenThrough ?? 'not yet', 'in every warehouse'],
  ];
  const drawn = all.map(
    ([title, figure, note]) => html`<div><dt>${title}</dt><dd><strong>${figure}</strong> ${note}</dd></div>`,
  );
  const content = html`<section id="figures" aria-label="Figures"><dl class="figures">${drawn}</dl></section>`;
  return { id: 'figures', content };
};

const coverage = ({ days, warehouses }: PageState): Section =>
  section(
    'coverage',
    'Calls by day (UTC)',
    html`<ul class="legend">${[...coverageStates].reverse().map((state) => html`<li><span class="chip ${state}" aria-hidden="true">${stateSigns[state].mark}</span>${stateSigns[state].name}</li>`)}</ul>${warehouses.map((name) => html`<h3>${name}</h3>${drawCalendar(name, days)}`)}`,
  );

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
  const filled = queues.filter(([, queue]) => queue != null && queue.count > 0);
  return filled.length === 0
    ? nothing('waiting')
    : section('waiting', 'Waiting', table('Waiting', waitingColumns, filled));
};

const drawProgress = ({ name, progress }: PageBackfill): Part => {
  if (progress === null || progress.state === 'done') return null;
  const left = secondsLeft(progress);
  return html`<progress max="1" value="${progress.share.toFixed(4)}" aria-label="Progress of ${name}"></progress> ${formatShare(progress.share)}, ${formatCount(progress.totals.windows)} windows${left !== null && `, ${formatSpan(left)} left`}`;
};

/** State of the backfills, and their actions. */
const drawState = ({ name, state, progress }: PageBackfill, formToken: string | null): Part =>
  progress === null || progress.state === 'done'
    ? (progress?.state ?? state)
    : [progress.state, ' ', formToken !== null && drawToggle(formToken, name, progress.state)];

const runs = ({ backfills: all, at }: PageState, formToken: string | null): Section => {
  const columns: Columns<PageBackfill> = {
    Name: ({ name, link }) => (link === null ? name : html`<a href="${link}">${name}</a>`),
    State: (one) => drawState(one, formToken),
    Progress: drawProgress,
    Calls: ({ progress }) => progress && formatCount(progress.totals.calls),
    Duration: ({ startedAt, closedAt }) =>
      formatSpan((Date.parse(closedAt ?? new Date(at).toISOString()) - Date.parse(startedAt)) / 1000),
    'Started (UTC)': ({ startedAt }) => formatInstant(Date.parse(startedAt)),
    Error: ({ error }) => error,
  };
  return all === null || all.length === 0 ? nothing('runs') : section('runs', 'Runs', table('Runs', columns, all));
};

const events = ({ events: all }: PageState): Section =>
  section(
    'events',
    'Timeline',
    all.length === 0
      ? html`<p>Nothing has happened yet, or the store answers late.</p>`
      : html`<ol class="timeline">${all.map((one) => html`<li><time datetime="${new Date(one.at).toISOString()}">${formatInstant(one.at)}</time> <span class="kind ${one.kind}">${one.kind}</span> ${one.what}${one.actor !== null && html` <span class="actor">by ${one.actor}</span>`}</li>`)}</ol>`,
  );

/** @param formToken for the forms of actions; null = nobody may act. */
export const drawSections = (state: PageState, formToken: string | null): readonly Section[] => [
  ...[headline, path, figures, coverage, waiting].map((draw) => draw(state)),
  runs(state, formToken),
  events(state),
];

const weekdays = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'];
/** 0 = Monday. */
const weekdayOf = (date: string): number => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
const month = new Intl.DateTimeFormat('en', { month: 'short', timeZone: 'UTC' });
const compact = new Intl.NumberFormat('en', { notation: 'compact' });

/** The month stands at its first day and at the first cell. */
const drawDay = ({ warehouse, day: date, state, calls }: PageDay, index: number): Html => {
  const label = `${date}: ${stateSigns[state].name}, ${formatCount(calls)} ${nounOf(calls, 'call')}`;
  const name = index === 0 || date.endsWith('-01') ? `${month.format(Date.parse(date))} ` : '';
  return html`<li><a class="day ${state}" href="/verdicts?warehouse=${encodeURIComponent(warehouse)}&amp;day=${date}" title="${label}"><span class="unseen">${label}</span><span aria-hidden="true"><span>${name}${Number(date.slice(8))}</span><span>${stateSigns[state].mark}</span><b>${calls > 0 && compact.format(calls)}</b></span></a></li>`;
};

const drawCalendar = (name: string, all: readonly PageDay[]): Html => {
  const days = all.filter(({ warehouse }) => warehouse === name);
  const [first] = days;
  if (first === undefined) return html`<p>Nothing is read yet, or the store answers late.</p>`;
  const before = Array.from({ length: weekdayOf(first.day) }, () => html`<li aria-hidden="true"></li>`);
  const heads = weekdays.map((weekday) => html`<span>${weekday}</span>`);
  return html`<div class="week" aria-hidden="true">${heads}</div><ol class="week" aria-label="Days of ${name}">${before}${days.map(drawDay)}</ol>`;
};

/** Pauses or resumes one backfill. */
const drawToggle = (token: string, name: string, state: 'running' | 'paused'): Html => {
  const [action, word] = state === 'running' ? (['pause', 'Pause'] as const) : (['resume', 'Resume'] as const);
  return html`<form method="post" action="/actions/${action}"><input type="hidden" name="form" value="${token}"><input type="hidden" name="name" value="${name}"><button aria-label="${word} ${name}">${word}</button></form>`;
};

const frame = (title: string, body: Html, live: boolean): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">${live && html`<script src="/script.js" defer></script>`}</head><body>${body}</body></html>
`.text;

/** @param formToken for the forms of actions; null = nobody may act. */
export const drawPage = (state: PageState, formToken: string | null): string =>
  frame(
    'callsync',
    html`<a class="skip" href="#events">Skip to the timeline</a><header><h1>callsync</h1><p id="live">As of ${formatInstant(state.at)} UTC</p></header><main>${drawSections(state, formToken).map(({ content }) => content)}</main><footer><p>callsync ${state.version}; ${formatCount(state.health?.calls ?? 0)} calls in the ledger</p></footer>`,
    true,
  );

const minute = (micros: number): string => formatInstant(micros / 1000).slice(5, 16);

const drawReason = ({ from, to, text, since, calls, command: then }: Reason): Html =>
  html`<li>${minute(from)} – ${minute(to)}: ${text}${since !== null && ` Since ${formatInstant(since / 1000)} UTC.`}${calls.length > 0 && ` Calls: ${calls.join(', ')}.`}${then !== null && html` <span class="then">Run <code>${then}</code></span>`}</li>`;

/** Why a day is not proven, and its verdicts. */
export const drawDayPage = (input: { warehouse: string; day: string }, { verdicts, reasons }: JudgedDay): string => {
  const columns: Columns<StoredVerdict> = {
    'Window (UTC)': (one) => `${minute(one.window_from)} – ${minute(one.window_to)}`,
    Outcome: (one) => one.outcome.replace('_', ' '),
    Level: (one) => `${one.level}, ${one.warehouse_level}`,
    ...countColumns,
    'Compared (UTC)': (one) => formatInstant(one.compared_at / 1000),
  };
  const none = html`<p>No verdict was given for this day yet. <code>callsync reconcile --from ${input.day}</code> gives one.</p>`;
  return frame(
    `Verdicts of ${input.day}`,
    html`<header><h1>Verdicts of ${input.day}, ${input.warehouse}</h1><p><a href="/">Back to the status</a></p></header><main>${reasons.length > 0 && html`<h2>Why this day is not proven</h2><ul>${reasons.map(drawReason)}</ul>`}${verdicts.length === 0 ? none : table('Verdicts', columns, verdicts)}</main>`,
    false,
  );
};
