/** Reads one query until its completeness is shown, or says why it must be cut into smaller ones. */

import type { ListClient } from '../list/list-client.ts';
import { axisOf, axisTime, canLeaveOut, isCuttable, type ListQuery } from '../list/list-query.ts';
import { observeCall } from '../list/observe-call.ts';
import { contains } from '../list/windows.ts';
import { capOf, type Handlers, insideIds, type Pass, passOver, rejectRecord, type Tally } from './read-pass.ts';

/** How completeness was shown; `none` = not (yet). */
export type Confirmation = 'total' | 'listing' | 'overlap' | 'none';

export interface PartOptions extends Handlers {
  readonly client: ListClient;
  readonly query: ListQuery;
  readonly tally: Tally;
  readonly partBytes: number;
  /** `later`: whoever reads a settled window leaves the second listing to reconcile. */
  readonly confirm: 'now' | 'later';
}

export type PartOutcome =
  | {
      readonly kind: 'read';
      readonly ids: ReadonlySet<string>;
      readonly confirmed: Confirmation;
      readonly total: number | undefined;
    }
  | {
      readonly kind: 'cut';
      readonly why: 'too_large' | 'looks_truncated' | 'disagrees';
      /** Records that the query holds, as far as known. */
      readonly records: number;
      readonly total: number | undefined;
      readonly ids: ReadonlySet<string>;
      readonly aligned: boolean;
    };

const maxDisagreements = 3;
/** Up to so many missing calls are fetched one by one rather than by reading the query again. */
const maxSingleFetches = 20;

export const readPart = async (options: PartOptions): Promise<PartOutcome> => {
  const { client, query } = options;
  const axis = query.window === undefined ? undefined : axisOf(client.list, query.window.axis);
  const nothingJoins = axis?.end_of_processing === true && isCuttable(axis);
  const byOverlap = options.confirm === 'now' && !nothingJoins && !canLeaveOut(client.list) && client.seekable;
  const read = byOverlap ? { ...query, overlap: 1 } : query;
  let before: Pass | undefined;
  const spent = { disagreements: 0 };
  for (;;) {
    const latest = await passOver({ ...options, query: read });
    const pass = nothingJoins && before !== undefined ? together(before, latest) : latest;
    const records = pass.ids.size;
    const cut = (why: 'too_large' | 'looks_truncated' | 'disagrees'): PartOutcome => ({
      kind: 'cut',
      why,
      records: Math.max(records, pass.lastTotal ?? 0),
      total: pass.lastTotal,
      ids: insideIds(pass),
      aligned: pass.aligned,
    });
    if (pass.tooLarge) return cut('too_large');
    if (pass.lastTotal === undefined && looksTruncated(records, client)) return cut('looks_truncated');
    const confirmed = await confirm(options, pass, { nothingJoins, byOverlap, spent });
    if (confirmed !== undefined) return { kind: 'read', ...confirmed, total: pass.lastTotal };
    if (
      incomplete(pass) &&
      (client.list.pagination.style === 'none' || (before !== undefined && sameCounts(before, pass)))
    ) {
      return cut('looks_truncated');
    }
    if (++spent.disagreements >= maxDisagreements) return cut('disagrees');
    before = pass;
  }
};

/** What a service that cuts silently would give: as many as the known cap, or a suspiciously round count. */
const looksTruncated = (records: number, client: ListClient): boolean => {
  if (records >= capOf(client)) return true;
  if (client.list.pagination.style === 'none') return records >= 50 && records % 50 === 0;
  return records >= 500 && records % 500 === 0;
};

interface Confirmed {
  readonly ids: ReadonlySet<string>;
  readonly confirmed: Confirmation;
}

const confirm = async (
  options: PartOptions,
  pass: Pass,
  how: { readonly nothingJoins: boolean; readonly byOverlap: boolean; readonly spent: { disagreements: number } },
): Promise<Confirmed | undefined> => {
  const ids = insideIds(pass);
  const { firstTotal, lastTotal } = pass;
  const records = pass.ids.size;
  const totalsAgree = firstTotal === lastTotal && lastTotal === records;
  // One response is one state of the list: nothing can slip between its pages.
  if (pass.filledPages <= 1 && (totalsAgree || lastTotal === undefined)) {
    return { ids, confirmed: lastTotal === undefined ? 'listing' : 'total' };
  }
  if (how.nothingJoins && lastTotal !== undefined) return totalsAgree ? { ids, confirmed: 'total' } : undefined;
  if (options.confirm === 'later') {
    return lastTotal === undefined || totalsAgree ? { ids, confirmed: 'none' } : undefined;
  }
  if (how.byOverlap) return pass.overlapBroken || incomplete(pass) ? undefined : { ids, confirmed: 'overlap' };
  const lacking = (lastTotal ?? 0) - records;
  return lacking > maxSingleFetches ? undefined : confirmByListing(options, ids, how.spent);
};

const incomplete = (pass: Pass): boolean =>
  pass.lastTotal !== undefined && pass.ids.size < Math.min(pass.firstTotal ?? pass.lastTotal, pass.lastTotal);

/**
 * Where nothing joins and the total never moved, every pass saw parts of one and the same set: calls of one instant may
 * come in another order each time, and what one pass skipped the next one brings.
 */
const together = (before: Pass, latest: Pass): Pass => {
  const total = latest.lastTotal;
  const steady =
    total !== undefined && [latest.firstTotal, before.firstTotal, before.lastTotal].every((one) => one === total);
  return steady ? { ...latest, ids: new Map([...before.ids, ...latest.ids]) } : latest;
};

const sameCounts = (before: Pass, after: Pass): boolean =>
  before.ids.size === after.ids.size && before.lastTotal === after.lastTotal;

/**
 * A second listing must name the same ids. What it names beyond them is fetched, and then a further listing must agree
 * with that one.
 */
const confirmByListing = async (
  options: PartOptions,
  read: ReadonlySet<string>,
  spent: { disagreements: number },
): Promise<Confirmed | undefined> => {
  const { client, query } = options;
  let known = read;
  for (; spent.disagreements < maxDisagreements; spent.disagreements++) {
    const listing = await passOver({
      ...options,
      query: { ...query, summary: true },
      onPage: undefined,
      onRejected: undefined,
    });
    if (listing.tooLarge) return undefined;
    if (incomplete(listing)) continue;
    const named = insideIds(listing);
    const missing = [...named].filter((id) => !known.has(id));
    if (missing.length === 0 && named.size === known.size) return { ids: named, confirmed: 'listing' };
    if (missing.length > maxSingleFetches || (missing.length > 0 && client.list.single_path === undefined))
      return undefined;
    await fetchCalls(options, missing);
    known = named;
  }
  return undefined;
};

/** Fetches calls one by one and hands them on like those of a page. */
const fetchCalls = async (options: PartOptions, ids: readonly string[]): Promise<void> => {
  const { client, query, tally } = options;
  for (const id of ids) {
    tally.requests++;
    const answer = await observeCall(client, id, query.signal);
    if (answer.kind === 'unknown') continue;
    const { bytes, receivedAt, observedAt, record } = answer.fetched;
    tally.bytes += bytes.length;
    if (answer.kind === 'rejected') {
      tally.rejected++;
      await options.onRejected?.([rejectRecord(bytes, answer.reason, { receivedAt, window: query.window })]);
      continue;
    }
    const time = query.window === undefined ? undefined : axisTime(client.list, query.window.axis, record);
    if (query.window !== undefined && time !== undefined && !contains(query.window, time)) continue;
    const meta = {
      window: query.window,
      observedAt,
      receivedAt,
      page: 0,
      summary: false,
    };
    await options.onPage?.([answer.observation], meta);
  }
};
