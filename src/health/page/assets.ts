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
  const places = active !== null && present.contains(active) ? [...present.querySelectorAll('a, button, [tabindex]')] : [];
  const place = places.indexOf(active);
  const next = parse(text);
  const scrolled = [...present.querySelectorAll('.scroll')].map((one) => one.scrollLeft);
  present.replaceWith(next);
  next.querySelectorAll('.scroll').forEach((one, index) => { one.scrollLeft = scrolled[index] ?? 0; });
  if (place >= 0) [...next.querySelectorAll('a, button, [tabindex]')][place]?.focus();
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
source.addEventListener('error', () => { live.textContent = 'Not connected; what is shown may be old'; });
`;

/** The stylesheet: light and dark by the reader's setting, from 320 px on. Each pair of colours has a contrast of 4.5 or more. */
export const style = `
:root { color-scheme: light dark; --text: #1b1f24; --page: #ffffff; --soft: #57606a; --line: #d0d7de; --panel: #f6f8fa; --link: #0550ae;
  --proven: #1b7f5c; --healed: #2f6fb5; --unproven: #8a5a00; --unread: #6b7280; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --page: #0d1117; --soft: #9da7b3; --line: #3d444d; --panel: #161b22; --link: #79b8ff;
    --proven: #1a7f5a; --healed: #2c69ad; --unproven: #8f5e00; --unread: #626a76; --bad: #c9302c; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 0 1rem 2rem; max-width: 70rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: .5rem 0; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; padding: 1rem 0; }
header p, footer { color: var(--soft); margin: 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .25rem; background: var(--page); padding: .25rem .5rem; z-index: 1; }
.headline { border-left: .5rem solid var(--unread); background: var(--panel); padding: .75rem 1rem; font-size: 1.15rem; overflow-wrap: anywhere; }
.headline p { margin: .25rem 0; }
.headline.good { border-color: var(--proven); }
.headline.delayed { border-color: var(--unproven); }
.headline.action { border-color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; min-width: 100%; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; white-space: nowrap; vertical-align: middle; }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; }
code { font: .875em/1.4 ui-monospace, monospace; }
button, input, select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--soft); border-radius: 4px; padding: .1rem .5rem; min-height: 28px; }
form { display: inline-flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: .25rem .5rem .25rem 0; }
form label { display: grid; font-size: .875rem; color: var(--soft); }
ul.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
.chip { display: inline-block; width: 1.4em; text-align: center; border-radius: 3px; margin-right: .4em; color: #fff; }
.chip.proven { background: var(--proven); } .chip.healed { background: var(--healed); } .chip.unproven { background: var(--unproven); }
.chip.unread { background: var(--unread); } .chip.suspicious_empty { background: var(--bad); }
.calendars { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
svg.calendar { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--soft); }
rect.day { stroke: var(--page); }
rect.proven { fill: var(--proven); } rect.healed { fill: var(--healed); } rect.unproven { fill: var(--unproven); }
rect.unread { fill: var(--unread); } rect.suspicious_empty { fill: var(--bad); }
text.on { fill: #fff; pointer-events: none; } text.mark { text-anchor: end; font-size: 15px; font-weight: 700; }
svg a:focus-visible { outline: none; } svg a:focus-visible rect { stroke: var(--text); stroke-width: 3; }
progress, meter { width: 8rem; max-width: 40vw; vertical-align: middle; }
.timeline { padding: 0; list-style: none; }
.timeline li { border-bottom: 1px solid var(--line); padding: .25rem 0; overflow-wrap: anywhere; }
.timeline time, .timeline .actor { color: var(--soft); font-variant-numeric: tabular-nums; }
.kind { font-weight: 600; }
@media (max-width: 30rem) { body { padding: 0 .75rem 1rem; } td, th { padding-right: .5rem; } }
`;
