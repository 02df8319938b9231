/** Judges whether a service gives fewer records than a query holds without saying so. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { dayMicros as day, type Micros } from '../../lib/timestamps.ts';
import { fewestAtEnd, hasGaps, type Span } from '../list/facts.ts';
import { axisOf, boundStep, isCuttable, type Window, type WindowQuery } from '../list/list-query.ts';
import { ask, askQuietly, type Judge, type View } from './ask.ts';
import { cutAmidCalls, endsFull, isRound } from './complete.ts';
import { isCall, type Listing } from './evidence.ts';

/**
 * Services rarely cap an answer lower, so callsync checks a suspected lower cap twice. But where nothing leads to a second page, the first one is
 * the cap.
 */
const smallestCap = ({ pagination }: ListConfig): number => (pagination?.style === 'none' ? 2 : 10);
/** Fewer records are compared with nothing. */
const fewestOf = (list: ListConfig): number => Math.min(3, smallestCap(list));

/**
 * Evidence of a read window about a cap. `none`: below its count. `found`: now in `learned.cap`. `changed`: calls
 * came since. `unclear`: no comparison is possible.
 */
type CapFinding = 'none' | 'found' | 'changed' | 'unclear';

/**
 * A capped query never passes a certain count. Only a window with as many records as the largest query is therefore
 * suspected. The halves of such a window must name no further calls. A total above its count is evidence too. A list may also
 * cut long windows: see judgeLength.
 * @param isDisputed passes over a larger window disagreed: capped replicas in turn end at other counts than the cap.
 */
export function* judgeCap(view: View, query: WindowQuery, pass: Listing, isDisputed = false): Judge<CapFinding> {
  const { rows, bytes, lastTotal } = pass;
  yield { kind: 'learn', seen: { totalIsLow: (lastTotal ?? Number.POSITIVE_INFINITY) < pass.ids.size } };
  if (!isCuttable(axisOf(view.list, query.window.axis)))
    return !endsInDoubt(view, pass) && isTakenOnTrust(view.list, rows) ? 'none' : 'unclear';
  const isDoubtful = endsDoubtfully(view, pass, isDisputed);
  const isSuspect = (): boolean => isDoubtful || isCapLike(view, pass);
  if (!isSuspect()) return 'none';
  // The total of all times: where it is larger than a count, totals are not capped at that count.
  if (lastTotal !== undefined) yield* askForTotal(view, query);
  if (!isSuspect()) return 'none';
  const finding = yield* compareWithHalves(view, query, pass);
  if (finding === 'found' && isUneven(view, rows)) yield { kind: 'learn', seen: { leastAtEnd: fewestAtEnd + 1 } };
  // Some readings do not count: if calls left during paging, the reading may have passed the cap.
  if (finding === 'none') yield { kind: 'learn', seen: { records: rows, bytes } };
  if (finding === 'found' && !isDoubtful && isCapLike(view, pass)) yield { kind: 'learn', seen: { cap: rows } };
  return finding;
}

/** Whether the end of the list does not say that nothing follows. */
const endsDoubtfully = (view: View, pass: Listing, isDisputed: boolean): boolean =>
  endsInDoubt(view, pass) ||
  endsFull(view, pass) ||
  // Omitted records also count for a cap, so queries end at different counts, and for a page whose lead is lost.
  (pass.rows >= fewestOf(view.list) &&
    (isDisputed ||
      (hasGaps(view.learned) && (pass.lastTotal === undefined || view.leadsOn || view.learned.totalIsLow))));

/** Whether a count may be that of a cap. */
const isCapLike = (view: View, { rows, ids, bytes, lastTotal }: Listing): boolean => {
  const { list, learned } = view;
  // A cap may have come while the list was read; it does not count records that pages repeat. Pages may hold fewer than asked for.
  if (isRound(rows, 50) || fillsPages(view, rows) || fillsPages(view, ids.size)) return true;
  if (rows < fewestOf(list) || (lastTotal !== undefined && rows < learned.total)) return false;
  // An answer without pages may also end where it holds so many bytes. The record that no longer fits may be long.
  return rows >= learned.records || (list.pagination?.style === 'none' && bytes * (1 + 4 / rows) >= learned.bytes);
};

/** Whether a query that was cut has fewer records than another: the cap then also counts records that the service leaves out. */
const isUneven = ({ learned }: View, rows: number): boolean =>
  hasGaps(learned) || rows < learned.records || Number.isFinite(learned.cap);

/** Whether so many records are full pages only. */
const fillsPages = ({ list, learned }: View, count: number): boolean =>
  learned.page >= smallestCap(list) && isRound(count, learned.page);

/** True if the list ends only in refusals, after a page as full as any other. */
export const endsInDoubt = ({ learned }: View, { refusedBehind }: Listing): boolean =>
  refusedBehind >= Math.max(2, learned.page);

/**
 * A list that cannot be cut allows no comparison, and its total may be capped like its rows. The configuration must
 * therefore state the limit of such a list. Unconfigured paging is a problem anyway.
 */
const isTakenOnTrust = (list: ListConfig, rows: number): boolean =>
  rows < fewestOf(list) || list.max_results !== undefined || list.pagination === undefined;

/** Some services refuse a window that long; the halves then decide. */
const askForTotal = ({ now }: View, { window: { axis }, signal }: WindowQuery): Judge<Listing> => {
  const always = { axis, from: Date.UTC(2000, 0, 1) * 1000, to: now + day };
  return ask({ kind: 'total', query: { window: always, signal, retries: 1 } });
};

/**
 * Whether a list with fewer rows than its total holds more of them. If its halves name no more, the total is wrong.
 * @param pass the reading of `query.window`.
 */
export function* judgeShort(view: View, query: WindowQuery, pass: Listing): Judge<boolean> {
  const { rows } = pass;
  if (!isCuttable(axisOf(view.list, query.window.axis)) || rows < fewestOf(view.list)) return false;
  const finding = yield* compareWithHalves(view, query, pass);
  // Short at one count twice: a cap, also where totals are late and happen to say as much.
  if (finding === 'found')
    yield { kind: 'learn', seen: { short: rows, cap: view.learned.short === rows ? rows : undefined } };
  return finding !== 'none';
}

/**
 * The calls between which a list is cut: where a page is in the order of times, those next to its end. A cap that also counts
 * records that the service leaves out hides the fewest from there on.
 */
const nearEnd = ({ learned }: View, { first, last, lastKey, gaps }: Listing, step: Micros): Partial<Span> => {
  if (gaps.length > 0 && !hasGaps(learned)) return {};
  // An inclusive bound one step earlier does not give the last call again.
  if (lastKey === last.callId) return { first: { ...first, at: Math.max(first.at, last.at - 2 * step) } };
  return lastKey === first.callId ? { last: { ...last, at: Math.min(last.at, first.at + step) } } : {};
};

/** A cap counts rows, also repeated ones. */
function* compareWithHalves(view: View, query: WindowQuery, pass: Listing): Judge<CapFinding> {
  const step = boundStep(view.list);
  const { windows, isStep } = cutAmidCalls(query.window, { ...pass, ...nearEnd(view, pass, step) }, step);
  const further = new Set<string>();
  const suspects: { readonly window: Window; readonly listing: Listing }[] = [];
  for (const window of windows) {
    const listing = yield* askQuietly({ ...query, window });
    for (const id of listing.ids.keys()) if (isCall(id) && !pass.ids.has(id)) further.add(id);
    // If one half has all calls, or its end is in doubt, that half is as suspect as the whole.
    const holdsAll = listing.rows >= Math.max(pass.rows, fewestOf(view.list));
    if (holdsAll || endsInDoubt(view, listing) || endsFull(view, listing)) suspects.push({ window, listing });
  }
  if (further.size > 0) return (yield* isCame(view, query, pass.rows, further.size)) ? 'changed' : 'found';
  // Both halves of a list that ignores a bound hold all calls, and so do their halves.
  if (suspects.length > 1 && suspects.some(({ listing }) => listing.outOfBounds > 0)) return 'unclear';
  for (const { window, listing } of suspects) {
    const inside = yield* compareWithHalves(view, { ...query, window }, listing);
    if (inside !== 'none') return inside;
  }
  return isStep ? yield* compareWithDays(view, query, pass) : 'none';
}

/** Whether further calls came since, or a late replica answered: both look like a cap once, and a low cap costs many requests. */
function* isCame({ list }: View, query: WindowQuery, rows: number, further: number): Judge<boolean> {
  for (let looks = rows < smallestCap(list) ? 2 : 1; looks > 0; looks--) {
    const again = yield* askQuietly(query);
    if (again.rows >= rows + further) return true;
  }
  return false;
}

/**
 * Whether two days around calls of one step hold more of them. If the list ends in refusals alone, the number of calls is
 * unknown. So it is behind a full page of a cursor without a page size, which may pass over calls of one time.
 */
function* compareWithDays(view: View, query: WindowQuery, pass: Listing): Judge<CapFinding> {
  const isUnsized = view.leadsOn && view.pageSize === undefined && pass.lastTotal === undefined;
  if ((isUnsized && fillsPages(view, pass.rows)) || endsInDoubt(view, pass)) return 'unclear';
  const wider = { ...query.window, from: query.window.from - day, to: query.window.to + day };
  const around = yield* askQuietly({ ...query, window: wider }, { until: ({ size }) => size > pass.rows });
  return around.rows > pass.rows ? 'none' : 'unclear';
}
