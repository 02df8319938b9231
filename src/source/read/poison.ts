/** Judges the records around those that make every answer fail: row by row, then call by call. */
import { countOf } from '../../lib/count-of.ts';
import { CallsyncError } from '../../lib/errors.ts';
import type { Micros } from '../../lib/timestamps.ts';
import { isPoison, isRefusal } from '../http/errors.ts';
import { capOf } from '../list/facts.ts';
import { axisOf, canLeaveOut, isCuttable, type Window, type WindowQuery } from '../list/list-query.ts';
import { ask, askList, askQuietly, type Judge, type ListAsk, unless, type View } from './ask.ts';
import { chooseProof, isSameSet } from './complete.ts';
import { isCall, join, type Listing, nothing, type Seen } from './evidence.ts';
import { type Done, done, notShown } from './verdict.ts';

/** Rows asked for at once; halved down to one where they fail. A power of two, so that halves are pages too. */
const rowsAtOnce = 64;
/** From this many failing rows on, the service counts as failing, and not single records. */
const maxFailures = 20;

/**
 * Whether the service answers the first page of another question: about a second before the window, or long ago. A
 * list that cannot be cut gets the same question.
 * If the service is away, the window is no poison. A refusal is an answer, because some services know no year 2000.
 * @param cause the failure of the window; after a refusal, another refusal says nothing.
 */
export function* judgeService(list: View['list'], query: WindowQuery, cause: CallsyncError): Judge<boolean> {
  const { window, signal } = query;
  const { axis, from } = window;
  const secondBefore = (to: Micros): Window => ({ axis, from: to - 1_000_000, to });
  const others = [secondBefore(from - 1_000_000), secondBefore(Date.UTC(2000, 0, 1) * 1000)];
  for (const other of isCuttable(axisOf(list, axis)) ? others : [window]) {
    try {
      yield* askQuietly({ window: other, retries: 1, signal }, { until: () => true });
      return true;
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      if (isRefusal(error) && !isRefusal(cause)) return true;
    }
  }
  return false;
}

/**
 * Reads a window that cannot be split and fails as a whole; reports it if calls are missing.
 * @throws CallsyncError where too much fails.
 */
export function* judgePoison(view: View, query: WindowQuery, cause: CallsyncError): Judge<Done> {
  const first = yield* readApart(view, query, cause);
  // Calls come and go. A call that left can hide a call that slipped between two answers, but not twice in the same way.
  const isSettled = !isWhole(first) || chooseProof(view, query) === 'total';
  const last = isSettled ? first : yield* readApart(view, query, cause);
  const { pass, unread, isListed } = last;
  if (isWhole(first) && isWhole(last) && isSameSet(first.pass.ids, pass.ids)) return done('total', pass);
  const what = !isListed
    ? 'it cannot be listed'
    : unread > 0
      ? `${countOf(unread, 'call')} cannot be read`
      : 'it was read row by row';
  const reason = `${what} (${cause.code})`;
  const detail = `fails as a whole: ${reason}; read: ${countOf(pass.ids.size, 'call')}.`;
  return notShown(reason, pass, { problems: [{ problem: 'unreadable', detail }] });
}

interface Apart {
  readonly pass: Listing;
  readonly isListed: boolean;
  readonly unread: number;
}

/** A call that must be asked for alone, and whether it is inside; undefined where nothing names it. */
type Name = readonly [callId: string, isInside: boolean] | undefined;

/** Whether as many calls came as every total says. */
const isWhole = ({ isListed, unread, pass }: Apart): boolean =>
  isListed && pass.isSteady && unread === 0 && pass.lastTotal === pass.ids.size;

/** The evidence of a question about the total alone. */
const totalsOf = ({ lastTotal, isSteady }: Listing): Seen => ({ lastTotal, isSteady });

function* readApart(view: View, asked: WindowQuery, cause: CallsyncError): Judge<Apart> {
  const query = { ...asked, retries: 1 };
  const rows = yield* readRows(view, query, cause);
  const listing = rows.isListed ? undefined : yield* askNames(view, query);
  const names: Name[] = namesOf(listing);
  for (const offset of rows.failed) {
    const row = query.summary ? undefined : yield* askNames(view, query, { rows: [offset, 1], upToCap: true });
    names.push(namesOf(row)[0]);
  }
  let found = listing === undefined ? rows.found : join(rows.found, totalsOf(listing));
  let unread = 0;
  for (const name of names) {
    // Also one outside the window: the list may filter by another time than it prints, and no other window gives it.
    const call = name && (yield* orPoison(ask({ kind: 'call', query, callId: name[0], isInside: name[1] })));
    if (call !== undefined) found = join(found, call);
    else if (++unread > maxFailures && name !== undefined) throw cause;
  }
  return { pass: found, unread, isListed: rows.isListed || listing?.tooLarge === false };
}

/** Undefined where the answer fails, perhaps for a record in it. */
const orPoison = <T>(judge: Judge<T>): Judge<T | undefined> => unless(isPoison, judge);

/**
 * Reads pages of ever fewer rows, where the style of paging can ask for them; `failed` are the offsets of rows that fail
 * alone. A list longer than a query does not come to its end.
 */
function* readRows(view: View, query: WindowQuery, cause: CallsyncError) {
  const failed: number[] = [];
  let found = nothing;
  let size = rowsAtOnce;
  for (let offset = 0; view.hasRows && offset < capOf(view.list, view.learned); ) {
    let page: Listing | undefined;
    try {
      page = yield* orPoison(askList(query, { rows: [offset, size], upToCap: true }));
    } catch (error) {
      // Where rows this far behind are refused, the others are not lost with them.
      if (offset > 0 && isRefusal(error)) break;
      throw error;
    }
    const [isTaken, isEnd] = placeOf(page, found, offset, size);
    if (page !== undefined) found = join(found, isTaken ? page : totalsOf(page));
    if (isEnd) return { found, failed, isListed: true };
    if (!isTaken && size > 1) {
      size /= 2;
      continue;
    }
    if (!isTaken && failed.push(offset) > maxFailures) throw cause;
    offset += size;
    while (size < rowsAtOnce && offset % (2 * size) === 0) size *= 2;
  }
  return { found, failed, isListed: false };
}

/**
 * Whether a page counts, and whether the rows end with it. Fewer records than requested mean that the list ends here, or
 * that the service limits the page.
 */
const placeOf = (page: Listing | undefined, found: Listing, offset: number, size: number) => {
  if (page === undefined) return [false, false] as const;
  const { lastPage: count, lastTotal = found.lastTotal } = page;
  const isEnd = count === 0 || offset + count === lastTotal;
  return [isEnd || count >= size, isEnd] as const;
};

/** A summary listing may name the calls of an answer that fails. */
function* askNames({ list }: View, query: WindowQuery, more?: Partial<ListAsk>): Judge<Listing | undefined> {
  const canName = list.single_path !== undefined && canLeaveOut(list);
  return canName ? yield* orPoison(askQuietly(query, more)) : undefined;
}

const namesOf = (listing: Listing | undefined): Name[] => [...(listing?.ids ?? [])].filter(([key]) => isCall(key));
