/** One pass over all pages of a query. The pass hands the records on and collects evidence of completeness. */
import { createHash } from 'node:crypto';
import type { ListConfig } from '../../../schemas/config/list.ts';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { iso } from '../../lib/timestamps.ts';
import type { RawRecord } from '../json/page-body.ts';
import { hasGaps, type ListClient, loops, type Page } from '../list/list-client.ts';
import type { ListQuery, Window } from '../list/list-query.ts';
import { axisOf, axisTime, boundStep, isCuttable, outsideBounds } from '../list/list-query.ts';
import { leftOutFields, observeRecord } from '../list/observe.ts';
import type { ReadContext } from './read-context.ts';

/** Result of one pass. */
export type Pass = Readonly<PassState>;

interface PassOptions {
  /** Reads the reachable part of a query that holds more. */
  readonly upToCap?: boolean;
  /** Stops after the page with which this is true of the distinct records. */
  readonly until?: (ids: ReadonlyMap<string, boolean>) => boolean;
  /** Hands nothing on. */
  readonly quiet?: boolean;
}

type PassState = ReturnType<typeof createPassState>;

/** More empty pages in a row, each leading on to another, are a list without an end. */
const mostEmpty = 50;
/** More pages of a window, even of ever other calls, are a list without an end. */
const mostPages = 2_000;

/** @throws CallsyncError of a finally failed request, LIST_LOOP if one page repeats, or the signal's reason */
export const passOver = async (context: ReadContext, query: ListQuery, options: PassOptions = {}): Promise<Pass> => {
  const { client } = context;
  const state = createPassState();
  const isCut = query.window !== undefined && isCuttable(axisOf(client.list, query.window.axis));
  const most = isCut ? mostPages : Number.POSITIVE_INFINITY;
  try {
    for await (const page of client.readPages(query))
      if ((await endsWith(context, query, page, state, options)) || state.pages > most) break;
  } catch (error) {
    // If several pages came first, a smaller window ends before the page where the list begins again.
    state.tooLarge =
      error instanceof CallsyncError && error.code === 'LIST_LOOP' && state.ids.size > client.learned.page;
    if (!state.tooLarge) throw error;
  }
  if (state.pages > most) throw loops();
  return state;
};

/** Takes in the next page; returns whether no further one is needed. */
const endsWith = async (
  context: ReadContext,
  query: ListQuery,
  page: Page,
  state: PassState,
  { upToCap = false, until = () => false, quiet = false }: PassOptions,
): Promise<boolean> => {
  const { client, tally } = context;
  const { learned } = client;
  const cap = capOf(client);
  state.pages++;
  state.bytes += page.size;
  tally.requests++;
  state.refusedBehind ??= page.refusedBehind;
  state.lastPage = page.count;
  state.emptyPages = page.count === 0 ? state.emptyPages + 1 : 0;
  const overlap = query.overlap ?? 0;
  const isBehindTotal = state.rows > 1 && state.rows === state.lastTotal;
  const saysSame = page.total === undefined || page.total === state.lastTotal;
  // The total of an empty page behind the end counts nothing.
  if (!(isBehindTotal && page.count === 0)) noteTotal(state, page);
  learned.total = Math.max(learned.total, page.total ?? 0);
  // A total that ignores the window comes with few records too.
  state.tooLarge = page.total !== undefined && page.total >= cap && page.isFull && !upToCap;
  if (state.tooLarge) return true;
  const mayBeEnd = isBehindTotal && saysSame && (overlap === 0 || page.count <= overlap);
  const isEnd = mayBeEnd && (await bringsNothing(context, query, page, state));
  if (isEnd) learned.totalIsProven = true;
  if (isEnd && overlap === 0) return true;
  const known = state.ids.size;
  await takePage(context, query, page, state, quiet);
  // Pages by offset overlap if pages have gaps.
  state.barrenPages = page.count > overlap && state.ids.size === known ? state.barrenPages + 1 : 0;
  const isBarren = state.barrenPages >= Math.max(3, learned.emptyAtEnd);
  // Offsets fall behind where pages have gaps. A call before a gap then comes again and again: shorter windows have fewer gaps.
  const isSparse = hasGaps(learned) && state.ids.size === state.lastTotal && state.outOfBounds.count === 0;
  if ((isBarren && !isSparse) || state.emptyPages > mostEmpty) throw loops();
  // Ignores the total, because it may be late.
  state.tooLarge = isBarren || state.rows >= cap;
  return state.tooLarge || until(state.ids);
};

const noteTotal = (state: PassState, { index, total }: Page): void => {
  if (index === 0) state.firstTotal = total;
  if (total === undefined) return;
  state.isSteady &&= total === state.firstTotal;
  state.lastTotal = total;
  state.largestTotal = Math.max(total, state.largestTotal ?? 0);
};

/** Whether a page behind as many rows as the total says is empty, or the last page given again. */
const bringsNothing = async (context: ReadContext, query: ListQuery, page: Page, { ids }: PassState) => {
  const further = createPassState();
  await takePage(context, query, page, further, true);
  return [...further.ids.keys()].every((key) => ids.has(key));
};

/** Result so far. */
export const createPassState = () => ({
  /** Every distinct record that came, and whether its time is inside the window. */
  ids: new Map<string, boolean>(),
  /** Rows that came, those repeated included, the overlap of pages not. */
  rows: 0,
  /** Records that came again on a later page. A record twice on one page is not among them, because one answer shows it. */
  repeatedLater: new Set<string>(),
  firstTotal: undefined as number | undefined,
  lastTotal: undefined as number | undefined,
  /** Whether every page that came with a total came with the same one. */
  isSteady: true,
  largestTotal: undefined as number | undefined,
  bytes: 0,
  /** Pages asked for, an empty last one included. */
  pages: 0,
  /** Records on the last page that came. */
  lastPage: 0,
  /** Records on the last page, if only refusals of later pages say that the list ends there. */
  refusedBehind: undefined as number | undefined,
  /** Stopped because the query holds more than one query can give. */
  tooLarge: false,
  overlapBroken: false,
  /** Whether every time that came is a multiple of the step of the API's bounds. */
  aligned: true,
  /** Times of the first and last call inside the window, as the list prints them; first > last where no dated call came. */
  span: { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY, firstId: '', lastId: '' },
  /** Records whose time is further outside the requested bounds than the list may print them, and the greatest distance in microseconds. */
  outOfBounds: { count: 0, furthest: 0 },
  lastKey: undefined as string | undefined,
  /** Pages in a row that brought nothing new, and those that were empty. */
  barrenPages: 0,
  emptyPages: 0,
});

/** Takes in the records of a page and hands them on, unless `quiet`. */
export const takePage = async (context: ReadContext, query: ListQuery, page: Page, state: PassState, quiet = false) => {
  const { handlers } = context;
  const { list } = context.client;
  const { observedAt, receivedAt, index } = page;
  const rules = {
    observedAt,
    carries: new Set(list.authoritative_fields),
    leftOut: query.summary ? leftOutFields(list) : [],
  };
  const onPage = new Set(query.overlap !== undefined && index > 0 ? [state.lastKey ?? ''] : []);
  let isFirst = true;
  for (const part of page.parts(context.partBytes)) {
    const taken: Taken = { rules, receivedAt, onPage, observations: new Map(), rejected: [], outside: new Set() };
    for (const raw of part) {
      const key = takeRecord(context, query, state, taken, raw);
      const overlaps = isFirst && query.overlap !== undefined && index > 0;
      if (overlaps && key !== state.lastKey) state.overlapBroken = true;
      if (!overlaps) state.rows++;
      isFirst = false;
      state.lastKey = key;
    }
    if (quiet) continue;
    const { rejected, outside } = taken;
    const observations = [...taken.observations.values()];
    if (rejected.length > 0) await handlers.onRejected?.(rejected);
    if (observations.length === 0) continue;
    const summary = query.summary === true;
    const keep = page.size <= context.partBytes ? page.keep : undefined;
    await handlers.onPage?.(observations, { outside, observedAt, summary, keep });
  }
};

/** Records of one part of a page. */
interface Taken {
  readonly rules: Parameters<typeof observeRecord>[1];
  readonly receivedAt: Date;
  /** Calls of the page so far. */
  readonly onPage: Set<string>;
  readonly observations: Map<string, Observation>;
  readonly rejected: RejectedRecord[];
  readonly outside: Set<string>;
}

/** Takes in one record; returns its key. */
const takeRecord = (
  { client, tally }: ReadContext,
  query: ListQuery,
  state: PassState,
  { rules, receivedAt, onPage, observations, rejected, outside }: Taken,
  { value, bytes }: RawRecord,
): string => {
  const observed = observeRecord(value, { ...rules, bytes });
  if (observed.kind === 'rejected') {
    const key = `${rejectedMark}${createHash('sha1').update(bytes()).digest('hex')}`;
    if (!state.ids.has(key)) rejected.push(rejectRecord(bytes(), observed.reason, receivedAt, query.window));
    state.ids.set(key, false);
    client.learned.undated = true;
    return key;
  }
  const { observation } = observed;
  const { callId } = observation;
  const other = observations.get(callId);
  if (other !== undefined) {
    const [order, otherOrder] = [orderOf(client.list, observation), orderOf(client.list, other)];
    if (order !== otherOrder) tally.conflicting.add(callId);
    if (order <= otherOrder) return callId;
    outside.delete(callId);
  }
  if (state.ids.has(callId) && !onPage.has(callId)) state.repeatedLater.add(callId);
  onPage.add(callId);
  if (!placeRecord(client, query, state, value, callId)) outside.add(callId);
  for (const field of observed.uncarried) tally.uncarried.set(field, (tally.uncarried.get(field) ?? 0) + 1);
  observations.set(callId, observation);
  return callId;
};

/**
 * Two records with one id in one answer are one tie: the record of the higher text stays, whole. Heavy fields come last,
 * so that listings without them choose alike.
 */
const orderOf = ({ exclude }: ListConfig, { fields }: Observation): string => {
  const light = Object.entries(fields).filter(([name]) => !exclude.includes(name));
  return JSON.stringify([light, fields]);
};

/** Remembers a record by its time; returns whether that is inside the window. A record without a time counts as inside. */
const placeRecord = (client: ListClient, query: ListQuery, state: PassState, value: unknown, callId: string) => {
  const { list } = client;
  const { window } = query;
  const time = window === undefined ? undefined : axisTime(list, window.axis, value);
  if (window === undefined || time === undefined) {
    client.learned.undated ||= window !== undefined;
    state.ids.set(callId, true);
    return true;
  }
  if (time % boundStep(list) !== 0) state.aligned = false;
  const distance = outsideBounds(list, query, time);
  if (distance > list.bounds_slack_ms * 1000) {
    client.learned.undated = true;
    state.outOfBounds.count++;
    state.outOfBounds.furthest = Math.max(state.outOfBounds.furthest, distance);
  }
  const inside = time >= window.from && time < window.to;
  state.ids.set(callId, inside);
  if (inside) {
    const { span } = state;
    if (time < span.first) Object.assign(span, { first: time, firstId: callId });
    if (time > span.last) Object.assign(span, { last: time, lastId: callId });
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
export const rejectRecord = (body: Buffer, reason: string, receivedAt: Date, window: Window | undefined) => ({
  reason,
  body: Buffer.from(body),
  source: 'poll' as const,
  origin: `list:${window === undefined ? 'all' : `${window.axis}:${iso(window.from)}`}`,
  receivedAt,
});

export const insideIds = (pass: Pass): Set<string> => {
  const inside = new Set<string>();
  for (const [id, isInside] of pass.ids) if (isInside) inside.add(id);
  return inside;
};
