/** The parts of the status page, each under an id by which the script replaces it. */
import { drawCalendar, stateMarks } from './draw-calendar.ts';
import { formatCount, formatInstant, formatShare, formatSpan } from './format.ts';
import { drawForms, drawToggle } from './forms.ts';
import { type Html, html, type Part } from './html.ts';
import type { PageBackfill, PageState, UsedLimit } from './page-state.ts';
import { sumUp } from './sum-up.ts';

export interface Section {
  readonly id: string;
  readonly content: Html;
}

const section = (id: string, title: string, content: Part): Section => ({
  id,
  content: html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>${content}</section>`,
});

/** Scrolls by itself where it does not fit, so it can be focused. */
const table = (title: string, heads: readonly string[], rows: readonly (readonly Part[])[], none: string): Html =>
  rows.length === 0
    ? html`<p>${none}</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label="${title} as a table"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows.map(
        ([first, ...cells]) =>
          html`<tr><th scope="row">${first}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
      )}</tbody></table></div>`;

const command = (text: string): Html =>
  html`<span class="command"><code>${text}</code> <button type="button" class="copy" data-copy="${text}" aria-label="Copy ${text}">Copy</button></span>`;

const headline = (state: PageState): Section => {
  const { mood, word, sentence, command: first } = sumUp(state);
  return {
    id: 'headline',
    content: html`<section id="headline" class="headline ${mood}" aria-live="polite"><p><strong>${word}.</strong> ${sentence}</p>${first !== null && html`<p>${command(first)}</p>`}</section>`,
  };
};

const coverage = ({ warehouses }: PageState): Section =>
  section(
    'coverage',
    'Coverage by day (UTC)',
    html`<ul class="legend">${Object.entries(stateMarks).map(([state, { mark, name }]) => html`<li><span class="chip ${state}" aria-hidden="true">${mark}</span>${name}</li>`)}</ul><div class="calendars">${warehouses.map((one) => html`<div><h3>${one.name}</h3>${drawCalendar(one)}</div>`)}</div>`,
  );

const warehouses = ({ warehouses: all, at }: PageState): Section =>
  section(
    'warehouses',
    'Warehouses',
    table(
      'Warehouses',
      ['Warehouse', 'Newest call', 'Pending', 'Oldest change', 'Last load', 'Last failure'],
      all.map((one) => [
        one.name,
        one.newestVisible === null ? '–' : `${formatSpan(Math.max(0, (at - one.newestVisible) / 1000))} old`,
        formatCount(one.pending),
        formatSpan(one.liveOldestAge),
        one.lastLoadAge === null ? 'never' : `${formatSpan(one.lastLoadAge)} ago`,
        one.lastError ?? '–',
      ]),
      'No warehouse is configured.',
    ),
  );

const latency = ({ funnel }: PageState): Section =>
  section(
    'latency',
    'From arrival to visible',
    table(
      'Latency of the last deliveries',
      ['Step', 'Deliveries', 'Half within', '95 % within'],
      funnel.map(({ step, calls, p50, p95 }) => [step, formatCount(calls), formatSpan(p50), formatSpan(p95)]),
      'No delivery has arrived yet.',
    ),
  );

const waiting = ({ waiting: all }: PageState): Section =>
  section(
    'waiting',
    'What waits',
    table(
      'What waits',
      ['Where', 'Count', 'Oldest', 'Command'],
      all.map((one) => [one.what, formatCount(one.count), formatSpan(one.oldestAge), command(one.command)]),
      'Nothing.',
    ),
  );

const drawProgress = ({ name, progress }: PageBackfill): Part =>
  progress === null
    ? '–'
    : html`<progress max="1" value="${progress.share.toFixed(4)}" aria-label="Progress of ${name}"></progress> ${formatShare(progress.share)}, ${formatCount(progress.windows)} windows, ${formatCount(progress.calls)} calls`;

/** Its state, and what can be done about it. */
const drawState = ({ name, status, progress }: PageBackfill, formToken: string | null): Part =>
  progress === null || progress.state === 'done'
    ? (progress?.state ?? status.toLowerCase())
    : [progress.state, ' ', formToken !== null && drawToggle(formToken, name, progress.state)];

const backfills = ({ backfills: all }: PageState, formToken: string | null): Section =>
  section(
    'backfills',
    'Backfills',
    all === null
      ? html`<p>Temporal does not answer: ${command('callsync doctor')}</p>`
      : table(
          'Backfills',
          ['Name', 'State', 'Progress', 'Rate', 'Left', 'Started (UTC)'],
          all.map((one) => [
            one.link === null ? one.name : html`<a href="${one.link}">${one.name}</a>`,
            drawState(one, formToken),
            drawProgress(one),
            one.progress === null ? '–' : `${formatCount(one.progress.callsPerSecond)} calls/s`,
            formatSpan(one.progress?.secondsLeft ?? null),
            formatInstant(Date.parse(one.startedAt)),
          ]),
          'None yet.',
        ),
  );

const drawLimit = ({ what, used, limit, note }: UsedLimit): readonly Part[] => [
  what,
  limit === null ? formatCount(used) : `${formatCount(used)} of ${formatCount(limit)}`,
  limit === null
    ? 'no limit'
    : html`<meter min="0" max="1" high="0.8" value="${Math.min(1, used / limit).toFixed(4)}" aria-label="${what}">${formatShare(used / limit)}</meter>`,
  note,
];

const limits = ({ limits: all }: PageState): Section =>
  section('limits', 'Limits', table('Limits', ['Limit', 'Used', 'Share', 'Note'], all.map(drawLimit), 'None.'));

const ways = ({ ways: { both, pollOnly, webhookOnly, importOnly } }: PageState): Section => {
  const sum = both + pollOnly + webhookOnly + importOnly;
  const row = (what: string, count: number): readonly Part[] => [
    what,
    formatCount(count),
    sum === 0 ? '–' : formatShare(count / sum),
  ];
  return section(
    'ways',
    'How calls came',
    table(
      'How calls came',
      ['Way', 'Calls', 'Share'],
      [
        row('Webhook and poll', both),
        row('Poll only', pollOnly),
        row('Webhook only', webhookOnly),
        row('Import only', importOnly),
      ],
      '',
    ),
  );
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
