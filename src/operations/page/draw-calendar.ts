/** The days of one warehouse as a calendar, a week a row: each day is a link to its verdicts. SVG without styles of its own. */
import { formatCount } from './format.ts';
import { type Html, html } from './html.ts';
import type { DayState, PageDay, PageWarehouse } from './page-state.ts';

/** Told apart without colours too. */
export const stateMarks: Readonly<Record<DayState, { readonly mark: string; readonly name: string }>> = {
  proven: { mark: '✓', name: 'proven' },
  healed: { mark: '+', name: 'healed' },
  unproven: { mark: '?', name: 'unproven' },
  unread: { mark: '·', name: 'unread' },
  suspicious_empty: { mark: '!', name: 'suspiciously empty' },
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
  const { mark, name } = stateMarks[day.state];
  const label = `${day.date}: ${name}, ${formatCount(day.calls)} calls`;
  // Date and mark are drawn outside the link, whose label says the same in words.
  return html`<a href="/verdicts?warehouse=${encodeURIComponent(warehouse)}&amp;day=${day.date}" aria-label="${label}"><rect class="day ${day.state}" x="${x}" y="${y}" width="${size}" height="${size}" rx="4"/><title>${label}</title></a><g aria-hidden="true"><text class="on" x="${x + 4}" y="${y + 13}">${Number(day.date.slice(8))}</text><text class="on mark" x="${x + size - 5}" y="${y + size - 7}">${mark}</text></g>`;
};

export const drawCalendar = ({ name, days }: PageWarehouse): Html => {
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
