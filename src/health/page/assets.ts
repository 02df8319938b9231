import { readFileSync } from 'node:fs';

/**
 * The script of the page: loads the page again every two seconds, replaces sections that changed, and copies commands. A section
 * that holds the focus is not replaced until the focus leaves it. Without the script, the page is a document.
 */
export const script = `'use strict';
const live = document.getElementById('live');
const reachable = 'a, button, summary, [tabindex]';
const replace = (present, next) => {
  const place = [...present.querySelectorAll(reachable)].indexOf(document.activeElement);
  const scrolled = [...present.querySelectorAll('.scroll')].map((one) => one.scrollLeft);
  present.replaceWith(next);
  next.querySelectorAll('.scroll').forEach((one, index) => { one.scrollLeft = scrolled[index] ?? 0; });
  [...next.querySelectorAll(reachable)][place]?.focus();
};
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
const drawn = new Map([...document.querySelectorAll('main > section')].map((one) => [one.id, one.outerHTML]));
const look = async () => {
  try {
    const answer = await fetch('/', { signal: AbortSignal.timeout(20000) });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const active = document.activeElement?.closest('form, .command');
    for (const next of page.querySelectorAll('main > section')) {
      const present = document.getElementById(next.id);
      if (drawn.get(next.id) === next.outerHTML || present === null || present.contains(active)) continue;
      drawn.set(next.id, next.outerHTML);
      replace(present, next);
    }
    live.textContent = 'Live, ' + page.getElementById('live').textContent.replace('As of', 'drawn');
  } catch {
    drawn.clear();
    if (live.textContent !== 'Not connected') document.getElementById('headline').outerHTML = '<section id="headline" class="headline delayed" aria-live="polite"><p><strong>Attention.</strong> The process that draws this page does not answer, and the page below is old. <span class="then">Run <span class="command"><code>callsync doctor</code> <button type="button" class="copy" data-copy="callsync doctor" aria-label="Copy callsync doctor">Copy</button></span></span></p></section>';
    live.textContent = 'Not connected';
  }
  setTimeout(look, 2000);
};
look();
`;

/** The stylesheet. */
export const style = readFileSync(new URL('./page.css', import.meta.url), 'utf8');
