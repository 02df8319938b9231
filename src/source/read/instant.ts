/** Judges a window that holds a single step of the bounds and more calls than one query gives. */
import { dayMicros } from '../../lib/timestamps.ts';
import type { ListQuery, WindowQuery } from '../list/list-query.ts';
import { axisOf, boundStep, halveWindow, isCuttable, otherAxis } from '../list/list-query.ts';
import { askList, askQuietly, type Judge, type View } from './ask.ts';
import { judgeComplete } from './complete.ts';
import { insideIds, type Listing } from './evidence.ts';
import { type Cut, type Done, done, notShown, type Problem } from './verdict.ts';

/**
 * Tries exact bounds, then cuts by the other axis, then by status. Then reads one query and reports the window.
 * @param cut why the instant cannot be read as it is.
 */
export function* judgeInstant(view: View, query: WindowQuery, cut: Cut): Judge<Done> {
  const exact: WindowQuery = { ...query, tight: true };
  const tight = canTighten(view.list, query, cut) ? yield* judgeComplete(view, exact) : undefined;
  if (tight?.kind === 'done' && (yield* isWholeStep(view, query, cut, tight))) return tight;
  const [asked, last] = tight?.kind === 'cut' ? [exact, tight] : [query, cut];
  const ids = new Set(last.ids);
  const { lastTotal = 0 } = last.pass;
  for (const pieces of [byOtherAxis(view, asked), byStatus(view, asked)]) {
    if (!(yield* readPieces(view, pieces, ids, lastTotal))) continue;
    if (last.pass.lastTotal === undefined) return report('unverified_cut', last.pass, ids);
    // Shown complete if the pieces have as many calls as the total.
    if (ids.size >= lastTotal) return done('total', last.pass, { ids });
  }
  if (last.why !== 'too_large') return report(last.why, last.pass, ids);
  for (const id of insideIds(yield* askList(asked, { upToCap: true }))) ids.add(id);
  return report('instant_too_large', last.pass, ids);
}

const canTighten = (list: View['list'], { window }: WindowQuery, { pass }: Cut): boolean =>
  isCuttable(axisOf(list, window.axis)) && pass.aligned && list.to_inclusive && window.to % boundStep(list) === 0;

/**
 * Whether exact bounds gave every call of the step. If the service compares finer times than it prints, exact bounds
 * omit calls within the step. The calls of the wide bounds are then at neither end.
 */
function* isWholeStep(view: View, query: WindowQuery, { pass }: Cut, tight: Done): Judge<boolean> {
  const look = (asked: WindowQuery): Judge<Listing> => askQuietly(asked, { upToCap: true });
  const shown = pass.rows > 0 ? pass : yield* look(query);
  if (!shown.aligned || shown.rows === 0) return false;
  const others = [...shown.ids.keys()].filter((id) => !tight.pass.ids.has(id));
  if (others.length === 0) return true;
  const { axis, to } = query.window;
  const { ids } = yield* look({ ...query, window: { axis, from: to, to: to + boundStep(view.list) }, tight: true });
  return others.every((id) => ids.has(id));
}

/** Queries that hold an instant together, and how one that is too large is halved. */
type Pieces = readonly [whole: readonly ListQuery[], halve: (piece: ListQuery) => readonly ListQuery[]];

/** Ever shorter windows on the other axis, where the list is cut by times at all. */
const byOtherAxis = ({ list, now }: View, query: WindowQuery): Pieces => {
  const { axis } = query.window;
  const other = isCuttable(axisOf(list, axis)) ? otherAxis(list, axis) : undefined;
  const halve = ({ also }: ListQuery): readonly ListQuery[] =>
    ((also && halveWindow(also, boundStep(list))) ?? []).map((half) => ({ ...query, also: half }));
  return [other ? halve({ also: { axis: other.name, from: 0, to: now + dayMicros } }) : [], halve];
};

const byStatus = ({ list }: View, query: WindowQuery): Pieces => {
  const values = list.status_param === undefined || list.status_values.length < 2 ? [] : list.status_values;
  return [values.map((status) => ({ ...query, status })), () => []];
};

/** Whether every piece was shown complete; adds its calls to `ids`. @param total of the whole; 0 without one. */
function* readPieces(view: View, [whole, halve]: Pieces, ids: Set<string>, total: number): Judge<boolean> {
  // Grows while it is read.
  const queue = [...whole];
  let isWhole = queue.length > 0;
  // A total of an empty piece that is like that of the whole does not count the query: every piece would be halved, without end.
  let isCounted = true;
  for (const piece of queue) {
    const part = yield* judgeComplete(view, piece);
    for (const id of part.ids) ids.add(id);
    isCounted &&= part.pass.rows > 0 || 2 * (part.pass.lastTotal ?? 0) < Math.max(1, total);
    // A single call disagrees with its total in whatever piece it is.
    const isDivisible = part.kind === 'cut' && (part.why === 'too_large' || (isCounted && part.pass.ids.size > 1));
    const halves = isDivisible ? halve(piece) : [];
    isWhole &&= part.kind === 'done' || halves.length > 0;
    queue.push(...halves);
  }
  return isWhole;
}

const report = (why: string, pass: Listing, ids: ReadonlySet<string>): Done => {
  const held = pass.lastTotal === undefined ? `at least ${Math.max(pass.ids.size, ids.size)}` : String(pass.lastTotal);
  const reasons: Readonly<Record<string, string>> = {
    instant_too_large: `holds ${held} calls, more than one query returns, and cannot be split further`,
    looks_truncated: `gave ${ids.size} calls where the service seems to hold ${held}`,
    ends_alike: 'comes in pages that always end at the same calls, so calls between two pages may be missing',
    unverified_cut: 'was split by another axis or by status, without a total for comparison',
  };
  const problem = why in reasons ? (why as Problem['problem']) : 'disagrees';
  const reason = reasons[why] ?? 'returned different calls each time';
  return notShown(reason, pass, { ids, problems: [{ problem, detail: `${reason}; ${ids.size} were read.` }] });
};
