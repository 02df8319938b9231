/** Reads one query until it is shown that everything came, or says why it must be cut into smaller ones. */
import type { Shown } from '../../../schemas/observation.ts';
import type { ListClient } from '../list/list-client.ts';
import { axisOf, canLeaveOut, isCuttable, type ListQuery } from '../list/list-query.ts';
import type { ReadContext } from './read-context.ts';
import { insideIds, type Pass, passOver } from './read-pass.ts';

/** End of the reading of a query, and the proof that no call is missing. */
export interface ReadPart {
  readonly kind: 'read';
  readonly pass: Pass;
  /** Calls inside the window. */
  readonly ids: ReadonlySet<string>;
  readonly shown: Shown;
  /** Reason of a missing proof, in one sentence; only with `none`. */
  readonly reason?: string;
}

/** A query that holds more than it gives, or gives something else each time. */
export interface CutPart {
  readonly kind: 'cut';
  readonly why: 'too_large' | 'looks_truncated' | 'disagrees';
  /** Parts that are short enough, where its length is the reason. */
  readonly pieces?: number;
  readonly pass: Pass;
  readonly ids: ReadonlySet<string>;
}

const maxDisagreements = 3;

/**
 * Passes on every record, possibly more than once.
 * @throws CallsyncError of a finally failed request, or the signal's reason.
 */
export const readPart = async (context: ReadContext, query: ListQuery): Promise<ReadPart | CutPart> => {
  const { client } = context;
  const way = chooseProof(context, query);
  const asked = way === 'page_overlap' ? { ...query, overlap: 1 } : query;
  let before: Pass | undefined;
  const tries = { left: maxDisagreements };
  for (;;) {
    const latest = await passOver(context, asked);
    const pass = way === 'total' && before !== undefined ? unite(before, latest) : latest;
    if (pass.tooLarge) return cutPart('too_large', pass);
    if (isRoundAnswer(client, query, pass)) return cutPart('looks_truncated', pass);
    const isDoubled = isClean(latest) && namesAlike(before, latest);
    // Pages with repeated rows break the overlap each time, so another listing must show completeness.
    const proof = way === 'page_overlap' && pass.overlapBroken && namesSame(before, latest) ? 'second_listing' : way;
    const read = isDoubled ? readAs(pass, 'second_listing') : await proveComplete(context, query, proof, pass, tries);
    if (read !== undefined && (pass === latest || (await bringsNothingElse(context, query, pass)))) {
      if (pass.rows === pass.lastTotal) context.tally.repeated += pass.rows - pass.ids.size;
      return read;
    }
    const isSame = before?.ids.size === pass.ids.size && before.lastTotal === pass.lastTotal;
    const isShort = pass.rows !== pass.lastTotal;
    if (lacksCalls(pass) && isShort && (isSame || client.list.pagination?.style === 'none')) {
      return cutPart('looks_truncated', pass);
    }
    tries.left--;
    if (tries.left <= 0) return cutPart('disagrees', pass);
    before = pass;
  }
};

export const readAs = (pass: Pass, shown: Shown, ids: ReadonlySet<string> = insideIds(pass)): ReadPart => {
  return { kind: 'read', pass, ids, shown };
};

export const notShown = (pass: Pass, reason: string, ids?: ReadonlySet<string>): ReadPart => {
  return { ...readAs(pass, 'none', ids), reason };
};

const cutPart = (why: CutPart['why'], pass: Pass): CutPart => ({ kind: 'cut', why, pass, ids: insideIds(pass) });

/** Possible proofs of completeness: see proveComplete. */
type Proof = 'unknown_paging' | 'total' | 'left_to_reconcile' | 'page_overlap' | 'second_listing';

/** Means to show that a query's answer is complete. */
export const chooseProof = ({ client, confirm }: ReadContext, { window }: ListQuery): Proof => {
  const { list } = client;
  if (list.pagination === undefined) return 'unknown_paging';
  const axis = window === undefined ? undefined : axisOf(list, window.axis);
  const nothingJoins = axis?.end_of_processing === true && isCuttable(axis);
  if (nothingJoins && (list.total_path ?? list.total_header) !== undefined) return 'total';
  if (confirm === 'later') return 'left_to_reconcile';
  return client.seekable && !canLeaveOut(list) ? 'page_overlap' : 'second_listing';
};

/** The reading, where it is shown complete or need not be; undefined where the query must be read again. */
const proveComplete = async (
  context: ReadContext,
  query: ListQuery,
  way: Proof,
  pass: Pass,
  tries: { left: number },
): Promise<ReadPart | undefined> => {
  if (way === 'unknown_paging') return notShown(pass, 'source.list.pagination is not configured');
  const { lastTotal } = pass;
  const totalsAgree = lastTotal !== undefined && pass.isSteady && lastTotal === pass.ids.size;
  // One response is one state of the list: nothing can slip between its pages.
  if (pass.pages === 1 && totalsAgree) return readAs(pass, 'total');
  // A second page was asked for only to see that nothing follows an empty first one.
  const isOnePage = (pass.pages === 1 && !endsFull(context.client, pass)) || pass.rows === 0;
  if (isOnePage && lastTotal === undefined) return readAs(pass, 'one_response');
  switch (way === 'total' && lastTotal === undefined ? 'second_listing' : way) {
    case 'total':
      return totalsAgree ? readAs(pass, 'total') : undefined;
    case 'left_to_reconcile':
      return lastTotal === undefined || totalsAgree ? notShown(pass, 'left to reconcile') : undefined;
    case 'page_overlap':
      return pass.overlapBroken || lacksCalls(pass) || !isClean(pass) ? undefined : readAs(pass, 'page_overlap');
    case 'second_listing':
      return compareSecondListing(context, query, pass, tries);
  }
};

/** A list that cannot be cut allows no second look at a part, so only a round number reveals a cap. */
const isRoundAnswer = ({ list }: ListClient, { window }: ListQuery, { ids, lastTotal }: Pass): boolean => {
  if (list.pagination === undefined || lastTotal !== undefined) return false;
  if (window !== undefined && isCuttable(axisOf(list, window.axis))) return false;
  const round = list.pagination.style === 'none' ? 50 : 500;
  return ids.size > 0 && ids.size % round === 0;
};

/** Whether no cursor or link leads on from a page that is as full as any: it may be lost. */
export const endsFull = ({ list: { pagination }, learned }: ListClient, { lastPage }: Pass): boolean =>
  (pagination?.style === 'cursor' || pagination?.style === 'link') && lastPage >= Math.max(2, learned.page);

/** Totals that differ from page to page may come from replicas of which one is late: the largest counts. */
const lacksCalls = ({ ids, largestTotal }: Pass): boolean => largestTotal !== undefined && ids.size < largestTotal;

/**
 * Whether no record came again on a later page. A repeated record may stand for another that was passed over. A list
 * without a unique order may pass over the same records each time. Only shorter windows show them.
 */
const isClean = ({ repeatedLater }: Pass): boolean => repeatedLater.size === 0;

/** As many rows as every total says. If they have fewer calls, the list has duplicates. */
const hasAllRows = ({ rows, isSteady, lastTotal }: Pass): boolean => isSteady && rows === lastTotal;

/** Whether a list that names some calls twice, and counts both rows, did so again for the same calls. */
const namesAlike = (before: Pass | undefined, latest: Pass): boolean =>
  latest.rows > latest.ids.size && hasAllRows(latest) && namesSame(before, latest);

/** Whether two passes named the same calls, and the same ones again on later pages. */
const namesSame = (before: Pass | undefined, latest: Pass): boolean =>
  before !== undefined && isSameSet(before.ids, latest.ids) && isSameSet(before.repeatedLater, latest.repeatedLater);

interface Keyed {
  readonly size: number;
  keys(): Iterable<string>;
  has(key: string): boolean;
}

/** Whether two sets, or the keys of two maps, are equal. */
export const isSameSet = (one: Keyed, other: Keyed): boolean =>
  one.size === other.size && [...one.keys()].every((key) => other.has(key));

/**
 * If no call joins and the total never moved, every pass saw parts of the same set. Calls of one instant may come in
 * another order each time, and a later pass brings skipped ones.
 */
const unite = (before: Pass, latest: Pass): Pass => {
  const total = latest.lastTotal;
  const isSteady = total !== undefined && latest.isSteady && before.isSteady && before.lastTotal === total;
  return isSteady ? { ...latest, ids: new Map([...before.ids, ...latest.ids]) } : latest;
};

/**
 * Whether a listing with other page ends names no further call than several passes did. A late replica also names deleted
 * calls. These would make up for calls that slipped between the same pages each time.
 */
const bringsNothingElse = async (context: ReadContext, query: ListQuery, pass: Pass): Promise<boolean> => {
  const pageSize = smallerPage(context.client, pass);
  const other = pageSize > 0 ? { pageSize } : {};
  const listing = await passOver(context, { ...query, ...other, summary: true }, { quiet: true });
  return [...listing.ids.keys()].every((id) => pass.ids.has(id));
};

/** A size with which pages end elsewhere, also where the service gives fewer records than asked for; 0 where none is. */
const smallerPage = ({ pageSize = 1, learned }: ListClient, { rows }: Pass): number =>
  (rows > learned.page ? Math.min(pageSize, learned.page) : pageSize) - 1;

/** A second listing must name the same calls. Where calls left meanwhile, a further listing must agree with it. */
const compareSecondListing = async (context: ReadContext, query: ListQuery, pass: Pass, tries: { left: number }) => {
  let known: ReadonlySet<string> = insideIds(pass);
  let isKnownClean = isClean(pass);
  for (let size = smallerPage(context.client, pass); tries.left > 0; tries.left--, size--) {
    // Pages end elsewhere in each listing: replicas that answer in turn would let the same calls slip between them again.
    const other = (pass.pages > 1 || endsFull(context.client, pass)) && size > 0 ? { pageSize: size } : {};
    const listing = await passOver(context, { ...query, ...other, summary: true }, { quiet: true });
    if (listing.tooLarge) return undefined;
    if (lacksCalls(listing)) {
      if (!hasAllRows(listing)) continue;
      // Rows that come again on a later page may stand for calls that were passed over: only passes that agree say so.
      if (listing.repeatedLater.size > 0) return undefined;
    }
    const named = insideIds(listing);
    if ([...named].some((id) => !known.has(id))) return undefined;
    // Pages of another size pass over other records, so that two listings with repeated rows may still agree only by being whole.
    if (named.size === known.size)
      return isKnownClean || isClean(listing) || 'pageSize' in other
        ? readAs(pass, 'second_listing', named)
        : undefined;
    known = named;
    isKnownClean = isClean(listing);
  }
  return undefined;
};
