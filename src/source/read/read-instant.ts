/** Reads a window that holds a single step of the bounds and more calls than one query gives. */

import { dayMicros, nowMicros } from '../../lib/timestamps.ts';
import type { Window, WindowQuery } from '../list/list-query.ts';
import { axisOf, boundStep, halveWindow, isCuttable, otherAxis } from '../list/list-query.ts';
import { type ReadContext, reportProblem } from './read-context.ts';
import { type CutPart, notShown, type ReadPart, readAs, readPart } from './read-part.ts';
import { insideIds, passOver } from './read-pass.ts';

/** Records of an instant so far. */
interface Found {
  readonly ids: Set<string>;
  readonly last: CutPart;
}

/**
 * Tries exact bounds, then cuts by the other axis, then by status. Then reads one query and reports the window.
 * @param cut why the instant cannot be read as it is.
 * @throws CallsyncError of a finally failed request, or the signal's reason.
 */
export const readInstant = async (context: ReadContext, query: WindowQuery, cut: CutPart): Promise<ReadPart> => {
  const { list } = context.client;
  const cuttable = isCuttable(axisOf(list, query.window.axis));
  const canTighten = cuttable && cut.pass.aligned && list.to_inclusive && query.window.to % boundStep(list) === 0;
  const exact: WindowQuery = { ...query, tight: true };
  const tight = canTighten ? await readPart(context, exact) : undefined;
  if (tight?.kind === 'read' && (await isWholeStep(context, query, cut, tight))) return tight;
  const [asked, last] = tight?.kind === 'cut' ? [exact, tight] : [query, cut];
  const found: Found = { ids: new Set(last.ids), last };
  return (
    (cuttable ? await cutByOtherAxis(context, asked, found) : undefined) ??
    (await cutByStatus(context, asked, found)) ??
    (await readUpToCap(context, asked, found))
  );
};

/**
 * Whether exact bounds gave every call of the step. If the service compares finer times than it prints, exact bounds
 * omit calls within the step. The calls of the wide bounds are then at neither end.
 */
const isWholeStep = async (context: ReadContext, query: WindowQuery, { pass }: CutPart, tight: ReadPart) => {
  const shown = pass.rows > 0 ? pass : await passOver(context, query, { upToCap: true, quiet: true });
  if (!shown.aligned || shown.rows === 0) return false;
  const others = [...shown.ids.keys()].filter((id) => !tight.pass.ids.has(id));
  if (others.length === 0) return true;
  const { axis, to } = query.window;
  const next = { ...query, window: { axis, from: to, to: to + boundStep(context.client.list) }, tight: true };
  const { ids } = await passOver(context, next, { upToCap: true, quiet: true });
  return others.every((id) => ids.has(id));
};

/** Reads an instant by ever shorter windows on the other axis. */
const cutByOtherAxis = async (context: ReadContext, query: WindowQuery, found: Found) => {
  const { list } = context.client;
  const other = otherAxis(list, query.window.axis);
  if (other === undefined) return undefined;
  const halve = (window: Window): readonly Window[] => halveWindow(window, boundStep(list)) ?? [];
  // Grows while it is read.
  const queue = [...halve({ axis: other.name, from: 0, to: nowMicros() + dayMicros })];
  let complete = true;
  for (const also of queue) {
    const part = await readPart(context, { ...query, also });
    for (const id of part.ids) found.ids.add(id);
    const halves = part.kind === 'cut' ? halve(also) : [];
    complete &&= part.kind === 'read' || halves.length > 0;
    queue.push(...halves);
  }
  return complete ? readWhole(context, query, found) : undefined;
};

const cutByStatus = async (context: ReadContext, query: WindowQuery, found: Found): Promise<ReadPart | undefined> => {
  const { list } = context.client;
  if (list.status_param === undefined || list.status_values.length < 2) return undefined;
  let complete = true;
  for (const status of list.status_values) {
    const part = await readPart(context, { ...query, status });
    for (const id of part.ids) found.ids.add(id);
    complete &&= part.kind === 'read';
  }
  return complete ? readWhole(context, query, found) : undefined;
};

/** The split instant. Shown complete if its pieces have as many calls as its total; undefined if they have fewer. */
const readWhole = (context: ReadContext, query: WindowQuery, found: Found): ReadPart | undefined => {
  const { ids, last } = found;
  const { lastTotal } = last.pass;
  if (lastTotal === undefined) return report(context, query, 'unverified_cut', found);
  return ids.size >= lastTotal ? readAs(last.pass, 'total', ids) : undefined;
};

const readUpToCap = async (context: ReadContext, query: WindowQuery, found: Found): Promise<ReadPart> => {
  const { last, ids } = found;
  if (last.why !== 'too_large') return report(context, query, last.why, found);
  for (const id of insideIds(await passOver(context, query, { upToCap: true }))) ids.add(id);
  return report(context, query, 'instant_too_large', found);
};

const report = (
  context: ReadContext,
  { window }: WindowQuery,
  problem: 'instant_too_large' | 'looks_truncated' | 'disagrees' | 'unverified_cut',
  { ids, last: { pass } }: Found,
): ReadPart => {
  const held = pass.lastTotal === undefined ? `at least ${Math.max(pass.ids.size, ids.size)}` : String(pass.lastTotal);
  const reasons: Record<typeof problem, string> = {
    instant_too_large: `holds ${held} calls, more than one query returns, and cannot be split further`,
    looks_truncated: `gave ${ids.size} calls where the service seems to hold ${held}`,
    disagrees: 'returned different calls each time',
    unverified_cut: 'was split by another axis or by status, without a total for comparison',
  };
  reportProblem(context, window, problem, `${reasons[problem]}; ${ids.size} were read.`);
  return notShown(pass, reasons[problem], ids);
};
