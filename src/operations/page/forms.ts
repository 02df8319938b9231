/** The forms of the page's actions. Without a form token, which only a page with actors has, there are none. */
import type { ActionName } from './actions.ts';
import { type Html, html, type Part } from './html.ts';

const form = (token: string, action: ActionName, content: Part): Html =>
  html`<form method="post" action="/actions/${action}"><input type="hidden" name="form" value="${token}">${content}</form>`;

/** Pauses or resumes one backfill. */
export const drawToggle = (token: string, name: string, state: 'running' | 'paused'): Html => {
  const [action, word] = state === 'running' ? (['pause', 'Pause'] as const) : (['resume', 'Resume'] as const);
  return form(
    token,
    action,
    html`<input type="hidden" name="name" value="${name}"><button aria-label="${word} ${name}">${word}</button>`,
  );
};

export const drawForms = (token: string): Html =>
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
