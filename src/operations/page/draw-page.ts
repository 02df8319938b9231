/** Whole documents: the status page, and the verdicts of one day. They load a stylesheet and a script of this server, nothing else. */
import { formatCount, formatInstant } from './format.ts';
import { type Html, html } from './html.ts';
import type { DayVerdict, PageState } from './page-state.ts';
import type { Section } from './sections.ts';

const frame = (title: string, body: Html, live: boolean): string =>
  html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">${live && html`<script src="/script.js" defer></script>`}</head><body>${body}</body></html>
`.text;

export const drawPage = (state: PageState, sections: readonly Section[]): string =>
  frame(
    'callsync',
    html`<a class="skip" href="#waiting">Skip the calendar</a><header><h1>callsync</h1><p id="live">Drawn ${formatInstant(state.at)} UTC</p></header><main>${sections.map(({ content }) => content)}</main><footer><p>callsync ${state.version}; ${formatCount(state.calls)} calls in the ledger</p></footer>`,
    true,
  );

const day = (at: number): string => formatInstant(at).slice(5, 16);

export const drawVerdicts = (
  input: { readonly warehouse: string; readonly day: string },
  verdicts: readonly DayVerdict[],
): string => {
  const heads = [
    'Window (UTC)',
    'Outcome',
    'Level',
    'Listed',
    'Found',
    'Kept out',
    'Missing',
    'Different',
    'Healed',
    'Compared (UTC)',
  ];
  const rows = verdicts.map(
    (one) =>
      html`<tr><th scope="row">${day(one.from)} – ${day(one.to)}</th><td>${one.outcome.replace('_', ' ')}</td><td>${one.level}</td><td>${formatCount(one.listed)}</td><td>${formatCount(one.found)}</td><td>${one.keptOut === null ? '–' : formatCount(one.keptOut)}</td><td>${formatCount(one.missing)}</td><td>${formatCount(one.different)}</td><td>${formatCount(one.healed)}</td><td>${formatInstant(one.comparedAt)}</td></tr>`,
  );
  const none = html`<p>No verdict was given for this day yet. <code>callsync reconcile --from ${input.day}</code> gives one.</p>`;
  const found = html`<div class="scroll" tabindex="0" role="region" aria-label="Verdicts"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;
  return frame(
    `Verdicts of ${input.day}`,
    html`<header><h1>Verdicts of ${input.day}, ${input.warehouse}</h1><p><a href="/">Back to the status</a></p></header><main>${verdicts.length === 0 ? none : found}</main>`,
    false,
  );
};
