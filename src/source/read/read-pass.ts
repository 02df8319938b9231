/** One pass over all pages of a query. It passes the records on and collects evidence of completeness. */
import { createHash } from 'node:crypto';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { CallsyncError } from '../../lib/errors.ts';
import type { Micros } from '../../lib/timestamps.ts';
import type { RawRecord } from '../json/page-body.ts';
import { type ListClient, loops, type Page } from '../list/list-client.ts';
import { axisTime, boundStep, contains, type ListQuery, outsideBounds, type Window } from '../list/list-query.ts';
import { leftOutFields, observeRecord } from '../list/observe.ts';
import type { ReadContext } from './read-context.ts';

export interface Pass {
  /** Every distinct record that came, and whether its time is inside the window. */
  readonly ids: ReadonlyMap<string, boolean>;
  /** Rows that came, those repeated included, the overlap of pages not. */
  readonly rows: number;
  /** Records that came again on a later page. One named twice on one page is not among them: one answer says so. */
  readonly repeatedLater: ReadonlySet<string>;
  readonly firstTotal: number | undefined;
  readonly lastTotal: number | undefined;
  /** Whether every page that came with a total came with the same one. */
  readonly isSteady: boolean;
  readonly largestTotal: number | undefined;
  /** Pages asked for, an empty last one included. */
  readonly pages: number;
  /** Records on the last page that came. */
  readonly lastPage: number;
  /** Records on the last page, where only refusals of the pages behind it say that the list ends there. */
  readonly refusedBehind: number | undefined;
  /** Stopped because the query holds more than one query can give. */
  readonly tooLarge: boolean;
  readonly overlapBroken: boolean;
  /** Whether every time that came is a multiple of the step of the API's bounds. */
  readonly aligned: boolean;
  /** Times of the first and last call inside the window, as the list prints them; first > last where no dated call came. */
  readonly span: Span;
  /** Records whose time is further outside the requested bounds than the list may print them. */
  readonly outOfBounds: OutOfBounds;
}

interface Span {
  readonly first: Micros;
  readonly last: Micros;
}

interface OutOfBounds {
  readonly count: number;
  /** The greatest distance from the bounds, in microseconds. */
  readonly furthest: Micros;
}

interface PassOptions {
  /** Reads the reachable part of a query that holds more. */
  readonly upToCap?: boolean;
  /** Stops after the page that raises the number of distinct records above this. */
  readonly stopBeyond?: number;
  /** Hands nothing on. */
  readonly quiet?: boolean;
}

/** Result so far. */
interface PassState {
  readonly ids: Map<string, boolean>;
  readonly repeatedLater: Set<string>;
  rows: number;
  aligned: boolean;
  overlapBroken: boolean;
  lastKey: string | undefined;
  readonly span: { first: Micros; last: Micros };
  readonly outOfBounds: { count: number; furthest: Micros };
}

/** More empty pages in a row, each leading on to another, are a list without an end. */
const mostEmpty = 50;

/** @throws CallsyncError of a finally failed request, LIST_LOOP if one page repeats, or the signal's reason */
export const passOver = async (context: ReadContext, query: ListQuery, options: PassOptions = {}): Promise<Pass> => {
  const { client, tally } = context;
  const { learned } = client;
  const { upToCap = false, stopBeyond = Number.POSITIVE_INFINITY } = options;
  const cap = capOf(client);
  const state = createPassState();
  let firstTotal: number | undefined;
  let lastTotal: number | undefined;
  let largestTotal: number | undefined;
  let isSteady = true;
  let pages = 0;
  let refusedBehind: number | undefined;
  let lastPage = 0;
  let barrenPages = 0;
  let emptyPages = 0;
  let tooLarge = false;

  try {
    for await (const page of client.readPages(query)) {
      pages++;
      tally.pages++;
      tally.requests++;
      tally.bytes += page.bytes;
      if (page.index === 0) firstTotal = page.total;
      refusedBehind ??= page.refusedBehind;
      lastPage = page.count;
      emptyPages = page.count === 0 ? emptyPages + 1 : 0;
      const overlap = query.overlap ?? 0;
      const isBehindTotal = state.rows > 1 && state.rows === lastTotal;
      const saysSame = page.total === undefined || page.total === lastTotal;
      // The total of an empty page behind the end counts nothing.
      if (page.total !== undefined && !(isBehindTotal && page.count === 0)) {
        isSteady &&= page.total === firstTotal;
        lastTotal = page.total;
        largestTotal = Math.max(page.total, largestTotal ?? 0);
      }
      learned.total = Math.max(learned.total, page.total ?? 0);
      // A total that ignores the window comes with few records too.
      tooLarge = page.total !== undefined && page.total >= cap && page.isFull && !upToCap;
      if (tooLarge) break;
      const mayBeEnd = isBehindTotal && saysSame && (overlap === 0 || page.count <= overlap);
      if (mayBeEnd && (await bringsNothing(context, query, page, state))) {
        learned.totalIsProven = true;
        if (overlap === 0) break;
      }
      const known = state.ids.size;
      await takePage(context, query, page, state, options.quiet);
      barrenPages = page.count > overlap && state.ids.size === known ? barrenPages + 1 : 0;
      // Pages by offset overlap if pages have gaps.
      if (barrenPages >= Math.max(3, learned.emptyAtEnd) || emptyPages > mostEmpty) throw loops();
      // Ignores the total, because it may be late.
      tooLarge = state.rows >= cap;
      if (tooLarge || state.ids.size > stopBeyond) break;
    }
  } catch (error) {
    // Behind several pages: a smaller question ends before the place where the list goes round.
    tooLarge = error instanceof CallsyncError && error.code === 'LIST_LOOP' && state.ids.size > learned.page;
    if (!tooLarge) throw error;
  }
  return { ...state, firstTotal, lastTotal, largestTotal, isSteady, pages, lastPage, refusedBehind, tooLarge };
};

/** Whether a page behind as many rows as the total says is empty, or the last page given again. */
const bringsNothing = async (
  context: ReadContext,
  query: ListQuery,
  page: Page,
  { ids }: PassState,
): Promise<boolean> => {
  const further = createPassState();
  await takePage(context, query, page, further, true);
  return [...further.ids.keys()].every((key) => ids.has(key));
};

export const createPassState = (): PassState => ({
  ids: new Map(),
  repeatedLater: new Set(),
  rows: 0,
  aligned: true,
  overlapBroken: false,
  lastKey: undefined,
  span: { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY },
  outOfBounds: { count: 0, furthest: 0 },
});

/** Takes in the records of a page and hands them on, unless `quiet`. */
export const takePage = async (
  context: ReadContext,
  query: ListQuery,
  page: Page,
  state: PassState,
  quiet = false,
): Promise<void> => {
  const { client, handlers, tally } = context;
  const { list } = client;
  const rules = {
    observedAt: page.observedAt,
    carries: new Set(list.authoritative_fields),
    leftOut: query.summary ? leftOutFields(list) : [],
  };
  const { window } = query;
  const onPage = new Set<string>();
  let isFirst = true;
  for (const part of page.parts(context.partBytes)) {
    const observations: Observation[] = [];
    const rejected: RejectedRecord[] = [];
    const outside = new Set<string>();
    for (const raw of part) {
      const observed = observeRecord(raw.value, { ...rules, encoded: raw.encoded, bytes: raw.bytes });
      let key: string;
      if (observed.kind === 'rejected') {
        key = `${rejectedMark}${createHash('sha1').update(raw.bytes()).digest('hex')}`;
        if (!state.ids.has(key)) rejected.push(rejectRecord(raw.bytes(), observed.reason, page.receivedAt, window));
        state.ids.set(key, false);
      } else {
        key = observed.observation.callId;
        if (state.ids.has(key) && !onPage.has(key)) state.repeatedLater.add(key);
        onPage.add(key);
        if (!placeRecord(client, query, state, raw, key, tally)) outside.add(key);
        for (const field of observed.uncarried) tally.uncarried.set(field, (tally.uncarried.get(field) ?? 0) + 1);
        observations.push(observed.observation);
      }
      const overlaps = isFirst && query.overlap !== undefined && page.index > 0;
      if (overlaps && key !== state.lastKey) state.overlapBroken = true;
      if (!overlaps) state.rows++;
      isFirst = false;
      state.lastKey = key;
    }
    if (quiet) continue;
    tally.rejected += rejected.length;
    if (rejected.length > 0) await handlers.onRejected?.(rejected);
    if (observations.length === 0) continue;
    await handlers.onPage?.(observations, {
      window,
      outside,
      observedAt: page.observedAt,
      receivedAt: page.receivedAt,
      page: page.index,
      summary: query.summary === true,
    });
  }
};

/** Remembers a record by its time; returns whether that is inside the window. A record without a time counts as inside. */
const placeRecord = (
  client: ListClient,
  query: ListQuery,
  state: PassState,
  raw: RawRecord,
  callId: string,
  tally: ReadContext['tally'],
): boolean => {
  const { list } = client;
  const { window } = query;
  const time = window === undefined ? undefined : axisTime(list, window.axis, raw.value);
  if (window === undefined || time === undefined) {
    if (window !== undefined) tally.undated++;
    state.ids.set(callId, true);
    return true;
  }
  if (time % boundStep(list) !== 0) state.aligned = false;
  const distance = outsideBounds(list, query, time);
  if (distance > list.bounds_slack_ms * 1000) {
    state.outOfBounds.count++;
    state.outOfBounds.furthest = Math.max(state.outOfBounds.furthest, distance);
  }
  const inside = contains(window, time);
  state.ids.set(callId, inside);
  if (inside) {
    state.span.first = Math.min(state.span.first, time);
    state.span.last = Math.max(state.span.last, time);
  }
  return inside;
};

/** Key of a record without a usable id: two listings with other fields name it differently. */
const rejectedMark = '\u0000';

export const isCall = (key: string): boolean => !key.startsWith(rejectedMark);

/** Most records that one query of this list can give. */
export const capOf = ({ list, learned }: ListClient): number =>
  Math.min(list.max_results ?? Number.POSITIVE_INFINITY, learned.cap ?? Number.POSITIVE_INFINITY);

/** Record for quarantine: its exact bytes, and its window as origin. */
export const rejectRecord = (
  body: Buffer,
  reason: string,
  receivedAt: Date,
  window: Window | undefined,
): RejectedRecord => ({
  reason,
  body: Buffer.from(body),
  source: 'poll',
  origin: `list:${window === undefined ? 'all' : `${window.axis}:${new Date(window.from / 1000).toISOString()}`}`,
  receivedAt,
});

export const insideIds = (pass: Pass): Set<string> => {
  const inside = new Set<string>();
  for (const [id, isInside] of pass.ids) if (isInside) inside.add(id);
  return inside;
};
