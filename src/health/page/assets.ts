/**
 * The script of the page: replaces sections that changed, as server-sent events bring them, and copies commands. A section
 * that holds the focus is not replaced until the focus leaves it. Without the script, the page is a document.
 */
export const script = `'use strict';
const live = document.getElementById('live');
const parse = (text) => new DOMParser().parseFromString(text, 'text/html').body.firstElementChild;
const waiting = new Map();
const replace = (id, text) => {
  const present = document.getElementById(id);
  if (present === null) return;
  const active = document.activeElement;
  if (active !== null && present.contains(active) && active.closest('form, .command') !== null) {
    waiting.set(id, text);
    return;
  }
  waiting.delete(id);
  const places = active !== null && present.contains(active) ? [...present.querySelectorAll('a, button, summary, [tabindex]')] : [];
  const place = places.indexOf(active);
  const next = parse(text);
  const open = present.querySelector('details')?.open;
  if (open) next.querySelector('details').open = true;
  const scrolled = [...present.querySelectorAll('.scroll')].map((one) => one.scrollLeft);
  present.replaceWith(next);
  next.querySelectorAll('.scroll').forEach((one, index) => { one.scrollLeft = scrolled[index] ?? 0; });
  if (place >= 0) [...next.querySelectorAll('a, button, summary, [tabindex]')][place]?.focus();
};
document.addEventListener('focusout', () => setTimeout(() => { for (const [id, text] of waiting) replace(id, text); }, 0));
document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element ? event.target.closest('button.copy') : null;
  if (button === null) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
  } catch {
    const range = document.createRange();
    range.selectNodeContents(button.previousElementSibling);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = 'Selected';
  }
});
const source = new EventSource('/events');
source.addEventListener('section', (event) => {
  const { id, html } = JSON.parse(event.data);
  replace(id, html);
});
source.addEventListener('drawn', (event) => { live.textContent = 'Live, drawn ' + event.data + ' UTC'; });
source.addEventListener('error', () => {
  live.textContent = 'Not connected';
  document.getElementById('headline').outerHTML = '<section id="headline" class="headline delayed" aria-live="polite"><p><strong>Attention.</strong> The process that draws this page does not answer, and the page below is old. <span class="then">Run <span class="command"><code>callsync doctor</code> <button type="button" class="copy" data-copy="callsync doctor" aria-label="Copy callsync doctor">Copy</button></span></span></p></section>';
});
`;

/** The stylesheet: light and dark by the reader's setting, from 320 px on. Each pair of colours has a contrast of 4.5 or more. */
export const style = `
:root { color-scheme: light dark; --text: #1b1f24; --page: #ffffff; --soft: #57606a; --line: #d0d7de; --panel: #f6f8fa; --link: #0550ae;
  --proven: #1b7f5c; --healed: #2f6fb5; --unproven: #8a5a00; --read: #dce9f5; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --page: #0d1117; --soft: #9da7b3; --line: #3d444d; --panel: #161b22; --link: #79b8ff;
    --proven: #1a7f5a; --healed: #2c69ad; --unproven: #8f5e00; --read: #1f3347; --bad: #c9302c; }
}
* { box-sizing: border-box; }
[hidden] { display: none; }
body { margin: 0 auto; padding: 0 1rem 2rem; max-width: 72rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: .5rem 0; overflow-wrap: anywhere; }
summary { cursor: pointer; } summary h2 { display: inline-block; margin: .5rem 0; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; padding: 1rem 0; }
header p, footer { color: var(--soft); margin: 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .25rem; background: var(--page); padding: .25rem .5rem; z-index: 1; }
.headline { border-left: .5rem solid var(--soft); background: var(--panel); padding: .75rem 1rem; font-size: 1.15rem; overflow-wrap: anywhere; }
.headline p { margin: .25rem 0; }
.then { display: block; font-size: 1rem; margin-top: .25rem; }
.headline.good { border-color: var(--proven); }
.headline.delayed { border-color: var(--unproven); }
.headline.action { border-color: var(--bad); }
.path, .week, .timeline, .legend { list-style: none; padding: 0; margin: 0; }
.path { display: flex; gap: 1.75rem; align-items: center; }
.path li { flex: 1; display: grid; gap: .5rem; position: relative; min-width: 0; }
.path li + li::before { content: '→'; position: absolute; left: -1.4rem; top: calc(50% - .75rem); color: var(--soft); }
.part { background: var(--panel); border-top: 4px solid var(--proven); padding: .4rem .6rem; font-size: .875rem; }
.part.delayed { border-color: var(--unproven); } .part.action { border-color: var(--bad); }
.part h3, .part p { margin: 0; }
.light { display: inline-block; width: .7em; height: .7em; border-radius: 50%; background: var(--proven); margin-right: .4em; }
.delayed .light { background: var(--unproven); border-radius: 0; } .action .light { background: var(--bad); clip-path: polygon(50% 0, 100% 100%, 0 100%); }
.figures { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; margin: 1.5rem 0; }
.figures dt, .figures dd { margin: 0; color: var(--soft); font-size: .875rem; }
.figures strong { display: block; color: var(--text); font-size: 1.4rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; min-width: 100%; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; vertical-align: middle; }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; overflow-wrap: anywhere; }
code { font: .875em/1.4 ui-monospace, monospace; }
button, input, select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--soft); border-radius: 4px; padding: .1rem .5rem; min-height: 28px; }
form { display: inline-flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: .25rem .5rem .25rem 0; }
form label { display: grid; font-size: .875rem; color: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
.chip { display: inline-block; width: 1.4em; text-align: center; border-radius: 3px; margin-right: .4em; }
.week { display: grid; grid-template-columns: repeat(7, 1fr); gap: 4px; margin-bottom: 4px; color: var(--soft); font-size: .875rem; }
.day { display: block; position: relative; border-radius: 4px; text-decoration: none; color: inherit; font-variant-numeric: tabular-nums; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.day > [aria-hidden] { display: grid; grid-template-columns: 1fr auto; padding: .2rem .4rem; min-height: 3.2rem; }
.day b { grid-column: 1 / 3; align-self: end; text-align: right; font-size: 1.05rem; }
.proven, .healed, .unproven, .suspicious_empty { color: #fff; }
.proven { background: var(--proven); } .healed { background: var(--healed); } .unproven { background: var(--unproven); } .suspicious_empty { background: var(--bad); }
.read { background: var(--read); color: var(--text); } .unread { box-shadow: inset 0 0 0 1px var(--line); }
progress, meter { width: 8rem; max-width: 40vw; vertical-align: middle; }
.timeline li { border-bottom: 1px solid var(--line); padding: .25rem 0; overflow-wrap: anywhere; }
.timeline time, .timeline .actor { color: var(--soft); font-variant-numeric: tabular-nums; }
.kind { font-weight: 600; } .kind.outage, .kind.error { border-left: 4px solid var(--bad); padding-left: .4em; } .kind.recovery { border-left: 4px solid var(--proven); padding-left: .4em; }
@media (max-width: 48rem) {
  body { padding: 0 .75rem 1rem; }
  .path { flex-direction: column; align-items: stretch; } .path li + li::before { content: '↓'; left: 50%; top: -1.6rem; }
  .figures { grid-template-columns: 1fr 1fr; } .figures strong { font-size: 1.1rem; }
  table, tbody, tr, th, td { display: block; } thead { display: none; }
  tr { background: var(--panel); padding: .5rem .75rem; margin-bottom: .5rem; }
  th, td { border: 0; padding: .1rem 0; overflow-wrap: anywhere; } td:empty { display: none; }
  td::before { content: attr(data-head) ': '; color: var(--soft); }
  .week { gap: 2px; } .day > [aria-hidden] { padding: .1rem .2rem; font-size: .75rem; } .day b { font-size: .75rem; }
}
`;
