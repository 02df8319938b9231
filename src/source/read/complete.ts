/** Judges whether everything came that a query holds, or why it must be cut into smaller ones. */
import { axisOf, boundStep, canLeaveOut, halveWindow, isCuttable, type ListQuery } from '../list/list-query.ts';
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
    const pass = way === 'total' && before !== undefined ? unite(before, latest) : latest;
    if (pass.tooLarge) return cut('too_large', pass);
    if (isDoubtful(view, query, pass, way)) return cut('looks_truncated', pass);
    const isAlike = namesAlike(before, latest);
    let found = isAlike ? done('second_listing', pass) : prove(view, wayNow(way, before, latest), pass);
    if (found === 'compare') [found, tries] = yield* compareSecondListing(view, query, pass, tries);
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

/** Pages with repeated rows break the overlap each time, so another listing must show completeness. */
const wayNow = (way: Proof, before: Listing | undefined, latest: Listing): Proof =>
  way === 'page_overlap' && latest.overlapBroken && namesSame(before, latest) ? 'second_listing' : way;

/** The end, where it is shown complete or need not be; undefined where the query must be asked again. */
const prove = (view: View, way: Proof, pass: Listing): Done | 'compare' | undefined => {
  const { lastTotal } = pass;
  const totalsAgree = lastTotal === pass.ids.size && pass.isSteady;
  if (way === 'unknown_paging') return notShown('source.list.pagination is not configured', pass);
  // One response is one state of the list: nothing can slip between its pages.
  if (pass.pages === 1 && totalsAgree) return done('total', pass);
  if (lastTotal === undefined && isOnePage(view, pass)) return done('one_response', pass);
  if (way === 'second_listing' || (way === 'total' && lastTotal === undefined)) return 'compare';
  if (way === 'left_to_reconcile')
    return lastTotal === undefined || totalsAgree ? notShown('left to reconcile', pass) : undefined;
  return (way === 'total' ? totalsAgree : overlapsWhole(pass)) ? done(way, pass) : undefined;
};

const overlapsWhole = (pass: Listing): boolean => !pass.overlapBroken && !lacksCalls(pass) && isClean(pass);

/** A second page was asked for only to see that nothing follows an empty first one. */
const isOnePage = (view: View, pass: Listing): boolean =>
  (pass.pages === 1 && !endsFull(view, pass)) || pass.rows === 0;

/** A list that cannot be cut allows no second look at a part, so only a round number reveals a cap. */
const isRoundAnswer = ({ list }: View, { window }: ListQuery, { ids, lastTotal }: Listing): boolean => {
  if (list.pagination === undefined || lastTotal !== undefined) return false;
  if (window !== undefined && isCuttable(axisOf(list, window.axis))) return false;
  const round = list.pagination.style === 'none' ? 50 : 500;
  return ids.size > 0 && ids.size % round === 0;
};

/**
 * Whether a cursor or link without a page size leads over several pages. One made of the last record's time passes over
 * others of that time, and the same ones in a second listing. Windows of one page each show all.
 */
const endsAlike = ({ list, pageSize, learned }: View, { window }: ListQuery, { rows }: Listing, way: Proof): boolean =>
  way === 'second_listing' &&
  pageSize === undefined &&
  rows > learned.page &&
  (list.pagination?.style === 'cursor' || list.pagination?.style === 'link') &&
  window !== undefined &&
  isCuttable(axisOf(list, window.axis)) &&
  halveWindow(window, boundStep(list)) !== undefined;

/** Whether only shorter windows can show that an answer is whole. */
const isDoubtful = (view: View, query: ListQuery, pass: Listing, way: Proof): boolean =>
  isRoundAnswer(view, query, pass) || endsAlike(view, query, pass, way);

/** Whether fewer calls than every total says come again, or may not. */
const isShort = ({ list }: View, before: Listing | undefined, pass: Listing): boolean => {
  const isSame = before?.ids.size === pass.ids.size && before.lastTotal === pass.lastTotal;
  return lacksCalls(pass) && pass.rows !== pass.lastTotal && (isSame || list.pagination?.style === 'none');
};

/** Whether no cursor or link leads on from a page that is as full as any: it may be lost. */
export const endsFull = ({ list: { pagination }, learned }: View, { lastPage }: Listing): boolean =>
  (pagination?.style === 'cursor' || pagination?.style === 'link') && lastPage >= Math.max(2, learned.page);

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
  namesTwice(latest) && hasAllRows(latest) && namesSame(before, latest);

/** Whether two passes named the same calls, and the same ones again on later pages. */
const namesSame = (before: Listing | undefined, latest: Listing): boolean =>
  before !== undefined && isSameSet(before.ids, latest.ids) && isSameSet(before.repeatedLater, latest.repeatedLater);

type Keyed = ReadonlySet<string> | ReadonlyMap<string, unknown>;

/** Whether two sets, or the keys of two maps, are equal. */
export const isSameSet = (one: Keyed, other: Keyed): boolean => one.size === other.size && holdsAll(one, other);

/** Whether nothing is in `few` that is not in `many`. */
const holdsAll = (many: Keyed, few: Keyed): boolean => [...few.keys()].every((key) => many.has(key));

/**
 * If no call joins and the total never moved, every pass saw parts of the same set. Calls of one instant may come in
 * another order each time, and a later pass brings skipped ones.
 */
const unite = (before: Listing, latest: Listing): Listing => {
  const total = latest.lastTotal;
  const isSteady = total !== undefined && latest.isSteady && before.isSteady && before.lastTotal === total;
  return isSteady ? { ...latest, ids: new Map([...before.ids, ...latest.ids]) } : latest;
};

/**
 * Whether a listing with other page ends names no further call than several passes did. A late replica also names deleted
 * calls. These would make up for calls that slipped between the same pages each time.
 */
function* bringsNothingElse(view: View, query: ListQuery, pass: Listing): Judge<boolean> {
  const pageSize = smallerPage(view, pass);
  const listing = yield* askQuietly({ ...query, ...(pageSize > 0 && { pageSize }) });
  return holdsAll(pass.ids, listing.ids);
}

/**
 * A size with which pages end elsewhere, also where the service gives fewer records than asked for; 0 where none is. Where
 * calls come twice, ends nearby may fall on the rows of one call, and those of half a page fall on every second end.
 */
const smallerPage = ({ pageSize = 1, learned }: View, pass: Listing): number => {
  const size = pass.rows > learned.page ? Math.min(pageSize, learned.page) : pageSize;
  return Math.min(size - 1, namesTwice(pass) ? Math.ceil(size * 0.62) : size);
};

type Tried = readonly [found: Done | undefined, triesLeft: number];

/** A second listing must name the same calls. Where calls left meanwhile, a further listing must agree with it. */
function* compareSecondListing(view: View, query: ListQuery, pass: Listing, tries: number): Judge<Tried> {
  let known = pass;
  // Pages end elsewhere in each listing: replicas that answer in turn would let the same calls slip between them again.
  const isElsewhere = pass.pages > 1 || endsFull(view, pass);
  let size = smallerPage(view, pass);
  for (let left = tries; left > 0; left--, size--) {
    const other = isElsewhere && size > 0;
    const listing = yield* askQuietly({ ...query, ...(other && { pageSize: size }) });
    if (provesNothing(listing)) continue;
    const [named, ids] = [insideIds(known), insideIds(listing)];
    if (mayMiss(listing) || !holdsAll(named, ids)) return [undefined, left];
    // Pages of another size pass over other records, so that two listings with repeated rows may still agree only by being whole.
    const isSound = isClean(known) || isClean(listing) || other;
    if (ids.size === named.size) return [isSound ? done('second_listing', pass, { ids }) : undefined, left];
    known = listing;
  }
  return [undefined, 0];
}

/** Fewer calls than the total of the listing. */
const provesNothing = (listing: Listing): boolean => lacksCalls(listing) && !hasAllRows(listing) && !listing.tooLarge;

/** Rows that come again on a later page may stand for calls that were passed over: only passes that agree say so. */
const mayMiss = (listing: Listing): boolean => listing.tooLarge || (lacksCalls(listing) && !isClean(listing));
