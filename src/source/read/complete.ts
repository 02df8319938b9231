/** Judges whether everything came that a query holds, or why it must be cut into smaller ones. */
import type { Micros } from '../../lib/timestamps.ts';
import { hasGaps, type Span } from '../list/facts.ts';
import {
  axisOf,
  boundStep,
  canLeaveOut,
  halveWindow,
  isCuttable,
  type ListQuery,
  type Window,
} from '../list/list-query.ts';
import { askList, askQuietly, type Judge, type View } from './ask.ts';
import { insideIds, type Listing } from './evidence.ts';
import { type Cut, cut, type Done, done, notShown } from './verdict.ts';

const maxDisagreements = 3;

/** Asks the query, perhaps several times, and hands every record on. */
export function* judgeComplete(view: View, query: ListQuery): Judge<Done | Cut> {
  const way = chooseProof(view, query);
  const asked = way === 'page_overlap' ? { ...query, overlap: 1 } : query;
  let before: Listing | undefined;
  for (let tries = maxDisagreements; tries > 0; tries--) {
    const latest = yield* askList(asked);
    const pass = way === 'total' ? unite(before, latest) : latest;
    if (pass.tooLarge) return cut('too_large', pass);
    if (isRoundAnswer(view, query, pass)) return cut('looks_truncated', pass);
    const isAlike = namesAlike(before, latest);
    let found = isAlike ? done('second_listing', pass) : prove(view, way, pass);
    if (found === 'compare') {
      if (endsAlike(view, query, pass)) return cut('ends_alike', pass);
      [found, tries] = yield* compareSecondListing(view, query, pass, tries);
    }
    // Passes over the same pages agree also where replicas that answer in turn hide the same calls from each.
    const isSure = pass === latest && !(isAlike && pass.pages > 1);
    if (found !== undefined && (isSure || (yield* bringsNothingElse(view, query, pass)))) return found;
    if (isShort(view, before, pass)) return cut('looks_truncated', pass);
    before = pass;
  }
  return cut('disagrees', before as Listing);
}

/** Possible proofs of completeness. */
type Proof = 'unknown_paging' | 'total' | 'left_to_reconcile' | 'page_overlap' | 'second_listing';

/** Means to show that a query's answer is complete. */
export const chooseProof = ({ list, seekable, confirm }: View, { window }: ListQuery): Proof => {
  if (list.pagination === undefined) return 'unknown_paging';
  const axis = window === undefined ? undefined : axisOf(list, window.axis);
  const nothingJoins = axis?.end_of_processing === true && isCuttable(axis);
  if (nothingJoins && (list.total_path ?? list.total_header) !== undefined) return 'total';
  if (confirm === 'later') return 'left_to_reconcile';
  return seekable && !canLeaveOut(list) ? 'page_overlap' : 'second_listing';
};

/** The end, where it is shown complete or need not be; undefined where the query must be asked again. */
const prove = (view: View, way: Proof, pass: Listing): Done | 'compare' | undefined => {
  const { lastTotal } = pass;
  const totalsAgree = agreesWithTotal(pass);
  if (way === 'unknown_paging') return notShown('source.list.pagination is not configured', pass);
  const alone = proveByOne(view, pass);
  if (alone !== undefined) return alone;
  if (way === 'second_listing' || (way === 'total' && lastTotal === undefined)) return 'compare';
  if (way === 'left_to_reconcile' && lastTotal !== undefined && !totalsAgree) return undefined;
  if (way === 'left_to_reconcile') return notShown('left to reconcile', pass);
  if (way === 'total' || lacksCalls(pass)) return totalsAgree ? done(way, pass) : undefined;
  return openGaps(pass).length === 0 && isClean(pass) ? done(way, pass) : 'compare';
};

/** One response is one state of the list: nothing can slip between its pages. */
const proveByOne = (view: View, pass: Listing): Done | undefined => {
  if (pass.pages === 1 && agreesWithTotal(pass)) return done('total', pass);
  // A second page was asked for only to see that nothing follows an empty first one.
  const isOnePage = (pass.pages === 1 && !endsFull(view, pass)) || pass.rows === 0;
  return pass.lastTotal === undefined && isOnePage ? done('one_response', pass) : undefined;
};

const agreesWithTotal = ({ lastTotal, ids, isSteady }: Listing): boolean => lastTotal === ids.size && isSteady;

/** The places of a listing at which the pages do not show that nothing is missing: between two pages, and behind a full last one. */
const openGaps = (listing: Listing): Listing['gaps'] => {
  const { gaps, endsFull, lastKey } = listing;
  if (agreesWithTotal(listing)) return [];
  return endsFull && lastKey !== undefined && !hasAllRows(listing) ? [...gaps, [lastKey, undefined]] : gaps;
};

/**
 * Whether one page of a listing holds both sides of each open gap of another: one answer is one state of the list. Where
 * pages have holes, no page may hold both, and the agreement of pages of other sizes must do.
 */
const closes = ({ learned, leadsOn }: View, listings: readonly Listing[], gaps: Listing['gaps']): boolean =>
  (hasGaps(learned) && !leadsOn) ||
  gaps.every(([before, behind]) =>
    listings.some(({ places, endsFull, lastKey = '' }) => {
      const [, place] = places.get(before) ?? [];
      const [other] = places.get(behind ?? lastKey) ?? [];
      return place !== undefined && place === other && !(behind === undefined && endsFull);
    }),
  );

/** Whether a count is a multiple of a size, as that of a cap is. */
export const isRound = (count: number, size: number): boolean => count > 0 && count % size === 0;

/** A list that cannot be cut allows no second look at a part, so only a round number reveals a cap. */
const isRoundAnswer = ({ list }: View, { window }: ListQuery, { ids, lastTotal }: Listing): boolean => {
  if (list.pagination === undefined || lastTotal !== undefined) return false;
  if (window !== undefined && isCuttable(axisOf(list, window.axis))) return false;
  return isRound(ids.size, list.pagination.style === 'none' ? 50 : 500);
};

/** The size of pages; undefined where the service has shown that it ignores a size. */
const sizeOf = ({ pageSize, learned }: View): number | undefined => (learned.sizeIgnored ? undefined : pageSize);

/**
 * The window, but for half of the first page: pages of one size end elsewhere in it. Undefined where it cannot be cut, where the
 * list is not in the order of times, or where shorter pages do. Pages of s and s - 1 records end together behind s (s - 1) of them.
 */
const cutAmidPage = (view: View, { window }: ListQuery, pass: Listing): Window | undefined => {
  const { list } = view;
  const { opening = pass, outOfBounds, rows } = pass;
  const shorter = smallerPage(view, pass);
  if (shorter > 0 && (outOfBounds > 0 || rows < shorter * (shorter + 1))) return undefined;
  if (window === undefined || !isCuttable(axisOf(list, window.axis))) return undefined;
  const { windows, isStep } = cutAmidCalls(window, { ...opening, outOfBounds }, boundStep(list));
  const isOrdered = 2 * (opening.last.at - opening.first.at) <= pass.last.at - pass.first.at;
  return isOrdered && !isStep ? windows[opening.first.at === pass.first.at ? 1 : 0] : undefined;
};

/** Whether pages of at most four records end together somewhere, whatever smaller size is asked for. */
const endsTogether = (view: View, pass: Listing): boolean => {
  const shorter = smallerPage(view, pass);
  return !hasGaps(view.learned) && shorter < 4 && pass.rows >= shorter * (shorter + 1);
};

/** Whether pages end alike in each listing, as those without a size do, so that none shows that nothing is between them. Shorter windows may. */
const endsAlike = (view: View, query: ListQuery, pass: Listing): boolean =>
  (sizeOf(view) === undefined || endsTogether(view, pass)) &&
  pass.gaps.length > 0 &&
  !agreesWithTotal(pass) &&
  cutAmidPage(view, query, pass) === undefined;

/** Whether fewer calls than every total says come again, or may not. */
const isShort = ({ list }: View, before: Listing | undefined, pass: Listing): boolean => {
  const isSame = before?.ids.size === pass.ids.size && before.lastTotal === pass.lastTotal;
  return lacksCalls(pass) && pass.rows !== pass.lastTotal && (isSame || list.pagination?.style === 'none');
};

/** Whether no cursor or link leads on from a page that is as full as any: it may be lost. */
export const endsFull = ({ leadsOn, learned }: View, { lastPage }: Listing): boolean =>
  leadsOn && lastPage >= Math.max(2, learned.page);

/** Totals that differ from page to page may come from replicas of which one is late: the largest counts. */
const lacksCalls = ({ ids, largestTotal }: Listing): boolean => ids.size < largestTotal;

/**
 * Whether no record came again on a later page. A repeated record may stand for another that was passed over. A list
 * without a unique order may pass over the same records each time. Only shorter windows show them.
 */
const isClean = ({ repeatedLater }: Listing): boolean => repeatedLater.size === 0;

/** As many rows as every total says. If they have fewer calls, the list has duplicates. */
const hasAllRows = ({ rows, isSteady, lastTotal }: Listing): boolean => isSteady && rows === lastTotal;

/** Whether some calls came twice on a page. */
const namesTwice = (pass: Listing): boolean => isClean(pass) && pass.rows > pass.ids.size;

/** Whether a list that names some calls twice on a page, and counts both rows, did so again for the same calls. */
const namesAlike = (before: Listing | undefined, latest: Listing): boolean =>
  before?.repeatedLater.size === 0 && namesTwice(latest) && hasAllRows(latest) && isSameSet(before.ids, latest.ids);

type Keyed = ReadonlySet<string> | ReadonlyMap<string, unknown>;

/** Whether two sets, or the keys of two maps, are equal. */
export const isSameSet = (one: Keyed, other: Keyed): boolean => one.size === other.size && holdsAll(one, other);

/** Whether nothing is in `few` that is not in `many`. */
const holdsAll = (many: Keyed, few: Keyed): boolean => [...few.keys()].every((key) => many.has(key));

/**
 * If no call joins and the total never moved, every pass saw parts of the same set. Calls of one instant may come in
 * another order each time, and a later pass brings skipped ones.
 */
const unite = (before: Listing | undefined, latest: Listing): Listing => {
  const total = latest.lastTotal;
  const isSteady = total !== undefined && latest.isSteady && before?.isSteady && before.lastTotal === total;
  return isSteady ? { ...latest, ids: new Map([...before.ids, ...latest.ids]) } : latest;
};

/**
 * Whether a listing with other page ends names no further call than several passes did. A late replica also names deleted
 * calls. These would make up for calls that slipped between the same pages each time.
 */
function* bringsNothingElse(view: View, query: ListQuery, pass: Listing): Judge<boolean> {
  const listings: Listing[] = [];
  const window = cutAmidPage(view, query, pass);
  let size = window ? (sizeOf(view) ?? 0) : smallerPage(view, pass);
  for (; listings.length < maxDisagreements; size--) {
    const listing = yield* askQuietly({ ...query, ...(window && { window }), ...(size > 0 && { pageSize: size }) });
    if (!holdsAll(pass.ids, listing.ids)) return false;
    listings.push(listing);
    if (closes(view, listings, openGaps(pass))) return true;
    if (size < 2) return false;
  }
  return false;
}

/**
 * A size with which pages end elsewhere, also where the service gives fewer records than asked for; 0 where none is. Where
 * calls come twice, ends nearby may fall on the rows of one call, and those of half a page fall on every second end. The end
 * of a single page may fall on records that the service leaves out.
 */
const smallerPage = (view: View, pass: Listing): number => {
  const { learned } = view;
  const pageSize = sizeOf(view) ?? 1;
  const size = pass.rows > learned.page ? Math.min(pageSize, learned.page) : pageSize;
  // A single page stays one, unless the service leaves records out.
  const least = pass.gaps.length === 0 ? pass.rows + 1 : namesTwice(pass) ? 0 : size;
  return Math.min(size - 1, Math.max(least, Math.ceil(size * 0.62)));
};

type Tried = readonly [found: Done | undefined, triesLeft: number];

/** A second listing must name the same calls. Where calls left meanwhile, a further listing must agree with it. */
function* compareSecondListing(view: View, query: ListQuery, pass: Listing, tries: number): Judge<Tried> {
  if (canClose(view, query, pass))
    return [(yield* bringsNothingElse(view, query, pass)) ? done('second_listing', pass) : undefined, tries];
  const listings = [pass];
  const asked = sizeOf(view);
  // Pages end elsewhere in each listing: replicas that answer in turn would let the same calls slip between them again.
  let size = smallerPage(view, pass);
  for (let left = tries; left > 0; left--, size--) {
    // Calls that smaller pages lack have left only if the usual ones lack them too.
    const listing = yield* askQuietly({ ...query, ...(listings.length % 2 > 0 && size > 0 && { pageSize: size }) });
    // The service has shown that it ignores the size: pages end elsewhere only in another window.
    if (sizeOf(view) !== asked) return [undefined, left];
    if (provesNothing(listing)) continue;
    const [named, ids] = [insideIds(listings.at(-1) ?? pass), insideIds(listing)];
    const differs = listings.some((other) => differsInRows(other, listing));
    if (!holdsAll(named, ids) || mayMiss(listing) || differs) return [undefined, left];
    const isWhole = asked === undefined || closes(view, listings, openGaps(listing));
    if (ids.size === named.size && isWhole) return [done('second_listing', pass, { ids }), left];
    listings.push(listing);
  }
  return [undefined, 0];
}

/** Whether listings of another window can show both sides of the open gaps of a pass. */
const canClose = (view: View, query: ListQuery, pass: Listing): boolean =>
  !provesNothing(pass) && !mayMiss(pass) && openGaps(pass).length > 0 && cutAmidPage(view, query, pass) !== undefined;

/** Fewer calls than the total of the listing. */
const provesNothing = (listing: Listing): boolean => lacksCalls(listing) && !hasAllRows(listing) && !listing.tooLarge;

/** Rows that come again on a later page may stand for calls that were passed over: only passes that agree say so. */
const mayMiss = (listing: Listing): boolean => listing.tooLarge || (lacksCalls(listing) && !isClean(listing));

/** Fewer rows of the same calls, in whatever order, were left out after the pages were cut, and other calls perhaps with them. */
const differsInRows = (one: Listing, other: Listing): boolean =>
  one.ids.size === other.ids.size && one.rows !== other.rows && isClean(one.rows > other.rows ? one : other);

/**
 * Cuts a window in the middle of its calls. Where all are within one step, it is cut before and behind that step. Where
 * the times of the calls do not say where they are, such as those of another zone, nothing is known of a single step.
 */
export const cutAmidCalls = (
  window: Window,
  { first, last, outOfBounds }: Span & Pick<Listing, 'outOfBounds'>,
  step: Micros,
) => {
  if (first.at > last.at || outOfBounds > 0) {
    const windows = halveWindow(window, step);
    return { windows: windows ?? [], isStep: windows === undefined };
  }
  const mean = (first.at + last.at) / 2 / step;
  const middle = (Math.ceil(mean) * step > last.at ? Math.floor(mean) : Math.ceil(mean)) * step;
  const isStep = middle <= first.at || middle > last.at;
  const from = isStep ? Math.floor(first.at / step) * step : middle;
  const parts: readonly Window[] = [
    { ...window, to: from },
    { ...window, from: isStep ? from + step : middle },
  ];
  return { windows: parts.filter((part) => part.from < part.to), isStep };
};
