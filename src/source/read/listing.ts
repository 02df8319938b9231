/** Asks a list, page by page: hands its records on, and returns what its pages showed. */
import { createHash } from 'node:crypto';
import type { AxisConfig, ListConfig } from '../../../schemas/config/list.ts';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { JsonRecord } from '../../lib/json-record.ts';
import { iso, type Micros, parseTimestamp } from '../../lib/timestamps.ts';
import { capOf, fewestAtEnd, hasGaps, type Learned, type Mark, mostAtEnd } from '../list/facts.ts';
import { type ListClient, loops, type Page } from '../list/list-client.ts';
import type { ListQuery, Window } from '../list/list-query.ts';
import { axisOf, boundStep, boundsOf, canLeaveOut, isCuttable } from '../list/list-query.ts';
import { observeRecord } from '../list/observe.ts';
import { observeCall } from '../list/observe-call.ts';
import type { RawRecord } from '../list/page-body.ts';
import type { Ask, ListAsk } from './ask.ts';
import { join, type Listing, nothing, type Place, rejectedMark, type Seen } from './evidence.ts';

interface PageMeta {
  /** Call ids of the page whose time is outside the part that is being read. Such calls are folded like the others, and their own part counts them. */
  readonly outside: ReadonlySet<string>;
  readonly observedAt: Micros;
  /** Whether heavy fields were left out. */
  readonly summary: boolean;
  /** Absent if the observations are not a whole page. */
  readonly keep?: Page['keep'];
}

/** Consumer of records; awaited, so that a slow one slows the reading down. */
export interface Handlers {
  /** Everything that a page brings, inside the window or not. A call may come more than once. */
  readonly onPage?: ((observations: readonly Observation[], meta: PageMeta) => Promise<void> | void) | undefined;
  /** Records without a usable `unique_id`. */
  readonly onRejected?: ((records: readonly RejectedRecord[]) => Promise<void> | void) | undefined;
}

export const openReading = (client: ListClient, handlers: Handlers = {}) => ({
  client,
  handlers,
  tally: {
    requests: 0,
    /** Every record that came. */
    named: new Set<string>(),
    /** Records that are no calls. */
    rejected: new Set<string>(),
    /** Calls of which one answer had two records with other content. */
    conflicting: new Set<string>(),
    /** Fields that came null or empty without being known to be carried, with how often. */
    uncarried: new Map<string, number>(),
  },
});

export type Reading = ReturnType<typeof openReading>;

/** JSON bytes parsed and handed on at once. */
const partBytes = 8 * 1024 * 1024;
/** More empty pages in a row, each leading on to another, are a list without an end. */
const mostEmpty = 50;
/** More pages of a window, even of ever other calls, are a list without an end. */
const mostPages = 2_000;

/**
 * Answers a judge.
 * @throws CallsyncError of a finally failed request, LIST_LOOP if one page repeats, or the signal's reason.
 */
export const answer = async (reading: Reading, asked: Ask): Promise<Listing> => {
  const { client, tally } = reading;
  switch (asked.kind) {
    case 'learn':
      client.learn(asked.seen);
      return nothing;
    case 'list':
      return await listPages(reading, asked);
    case 'total': {
      const lastTotal = await client.readTotal(asked.query);
      tally.requests += Number(lastTotal !== undefined);
      return join(nothing, { lastTotal });
    }
    case 'call':
      tally.requests++;
      return await askForCall(reading, asked);
  }
};

/** One call, handed on like one of a page. */
const askForCall = async ({ client, handlers }: Reading, asked: Extract<Ask, { kind: 'call' }>): Promise<Listing> => {
  const { callId, isInside, query } = asked;
  const observed = await observeCall(client, callId, query);
  if (observed.kind === 'unknown') return nothing;
  const { bytes, observedAt, receivedAt } = observed.fetched;
  const outside = new Set(isInside ? [] : [callId]);
  if (observed.kind === 'rejected')
    await handlers.onRejected?.([rejectRecord(bytes, observed.reason, receivedAt, query.window)]);
  else await handlers.onPage?.([observed.observation], { outside, observedAt, summary: false });
  return observed.kind === 'rejected' ? nothing : join(nothing, { ids: new Map([[callId, isInside]]) });
};

/** Evidence of a question that is being answered. */
interface Growing extends Listing {
  readonly ids: Map<string, boolean>;
  readonly repeatedLater: Set<string>;
  readonly places: Map<string, Place>;
}

/** One pass over the pages of a query. */
const listPages = async (reading: Reading, asked: ListAsk): Promise<Listing> => {
  const { client } = reading;
  const { window } = asked.query;
  const isCut = window !== undefined && isCuttable(axisOf(client.list, window.axis));
  const most = isCut ? mostPages : Number.POSITIVE_INFINITY;
  let found: Growing = { ...nothing, ids: new Map(), repeatedLater: new Set(), places: new Map() };
  try {
    for await (const page of client.readPages(asked.query, asked.rows)) {
      found = await takeNext(reading, asked, page, found);
      if (found.isOver || found.pages > most) break;
    }
  } catch (error) {
    // If several pages came first, a smaller window ends before the page where the list begins again.
    const isLoop = error instanceof CallsyncError && error.code === 'LIST_LOOP';
    const { page, endsAgain } = client.learned;
    if (!isLoop || (found.ids.size <= page && !endsAgain)) throw error;
    return join(found, { tooLarge: true });
  }
  if (found.pages > most) throw loops();
  return found;
};

/** Takes in the next page. */
const takeNext = async (reading: Reading, asked: ListAsk, page: Page, before: Growing): Promise<Growing> => {
  const { list, learned, learn } = reading.client;
  const { query, upToCap, until } = asked;
  const { overlap = 0 } = query;
  reading.tally.requests++;
  learn({ total: page.total, sizeIgnored: page.count > (page.request.size ?? page.count) });
  const head = join(before, headOf(page, before));
  // A total that ignores the window comes with few records too.
  if (page.total !== undefined && page.total >= capOf(list, learned) && page.isFull && !upToCap)
    return join(head, { tooLarge: true, isOver: true });
  const end = endOf(list, query, page, before);
  if (end !== undefined) learn(end);
  if (end !== undefined && overlap === 0) return join(head, { isOver: true });
  const known = before.ids.size;
  const taken = await takePage(reading, asked, page, head);
  // Pages by offset overlap if pages have gaps.
  const isBarren = page.count > overlap && taken.ids.size === known;
  if (!isBarren) learn(endsSeen(reading.client, page, page.count <= overlap, before));
  const found = join(taken, { barrenPages: Number(isBarren), emptyPages: Number(page.count === 0) });
  const tooLarge = isTooLarge(reading.client, found);
  return join(found, { tooLarge, isOver: tooLarge || until?.(found.ids) });
};

/** The sign of the end of the list in a page that brings nothing new; undefined if there is none. */
const endOf = (list: ListConfig, query: ListQuery, page: Page, before: Growing): Learned | undefined => {
  const { overlap = 0 } = query;
  const isAtEnd = mayEndAtTotal(page, overlap, before);
  const mayEnd = isAtEnd || (overlap === 0 && mayBeAgain(page));
  if (!mayEnd || !bringsNothing(list, query, page, before)) return undefined;
  return isAtEnd ? { totalIsProven: true } : { endsAgain: true };
};

/**
 * The sign in a page of the way in which this list ends: new records behind a page that is not full show a gap. Where
 * answers lead on, a single one may have come just then: such lists rarely show an end by which to forget.
 */
const endsSeen = ({ leadsOn, learned }: ListClient, page: Page, isEmpty: boolean, before: Listing): Learned => {
  const { emptyAtEnd, leastAtEnd } = learned;
  const { fullPage, count } = page;
  const { behind = leadsOn && before.pages > 0 && count > 1 ? before.lastPage : fullPage } = page;
  const { emptyBefore = 0 } = page.request;
  if (isEmpty) return emptyBefore + 1 >= emptyAtEnd ? { emptyAtEnd: Math.max(leastAtEnd, emptyAtEnd - 1) } : {};
  const isHalf = behind + Math.max(5, behind) <= fullPage;
  const isGap = emptyBefore > 0 || behind < fullPage;
  return { ...(isHalf && { leastAtEnd: fewestAtEnd + 1 }), ...(isGap && { emptyAtEnd: mostAtEnd }) };
};

/** The evidence of a page without its records. */
const headOf = ({ count, size, total, refusedBehind }: Page, { rows, lastTotal }: Listing): Seen => {
  // The total of a page behind the end counts nothing, or only records from there on.
  const isBehindEnd = rows > 0 && rows === lastTotal && (count === 0 || (total ?? count) < count);
  return { pages: 1, bytes: size, lastPage: count, refusedBehind, lastTotal: isBehindEnd ? undefined : total };
};

/** A page behind as many rows as the total says may be empty, or records given again. A total below them counts only those from there on. */
const mayEndAtTotal = ({ total = -1, count }: Page, overlap: number, { rows, lastTotal }: Listing): boolean =>
  rows > 1 && rows === lastTotal && (total === rows || total < count) && (overlap === 0 || count <= overlap);

/** A page behind one that was shorter than asked for may be that page again, as some lists answer behind their end. */
const mayBeAgain = ({ count, request: { behind, size = 0 } }: Page): boolean =>
  count > 0 && count === behind && count < size;

/** Whether every record of a page came before. */
const bringsNothing = (list: ListConfig, query: ListQuery, page: Page, { ids }: Listing): boolean => {
  for (const part of page.parts(partBytes))
    if (!readRows(list, query, page, part).every(({ key }) => ids.has(key))) return false;
  return true;
};

/**
 * Whether a listing comes to the limit of one query, or to pages that bring nothing new.
 * @throws CallsyncError LIST_LOOP
 */
const isTooLarge = ({ list, learned }: ListClient, found: Listing): boolean => {
  const isBarren = found.barrenPages >= Math.max(3, learned.emptyAtEnd);
  // Offsets fall behind where pages have gaps. A call before a gap then comes again and again: shorter windows have fewer gaps.
  const isSparse = hasGaps(learned) && found.ids.size === found.lastTotal && found.outOfBounds === 0;
  if ((isBarren && !isSparse) || found.emptyPages > mostEmpty) throw loops();
  // Ignores the total, because it may be late.
  return isBarren || found.rows >= capOf(list, learned);
};

/** Takes in the records of a page and hands them on, unless `quiet`. */
const takePage = async (reading: Reading, { query, quiet }: ListAsk, page: Page, before: Growing): Promise<Growing> => {
  const { list, learn } = reading.client;
  const { ids, lastKey } = before;
  const { request } = page;
  const overlapKey = query.overlap !== undefined && request.index > 0 ? (lastKey ?? '') : undefined;
  const onPage = new Set([overlapKey]);
  let found = before;
  let firstKey: string | undefined;
  for (const part of page.parts(partBytes)) {
    const rows = readRows(list, query, page, part);
    const chosen = chooseRows(reading, rows);
    const fresh = chosen.filter(({ key, observation }) => observation || !ids.has(key));
    for (const row of chosen) note(before, row, request, onPage);
    for (const { key, reason } of chosen) {
      reading.tally.named.add(key);
      if (reason !== undefined) reading.tally.rejected.add(key);
    }
    firstKey ??= rows[0]?.key;
    const isOverlapping = overlapKey !== undefined && found === before;
    const counted = { rows: rows.length - Number(isOverlapping), lastKey: rows.at(-1)?.key };
    found = join(found, { ...placeRows(list, chosen), ...counted });
    learn({ undated: chosen.some(({ mark, beyond }) => query.window && (mark === undefined || beyond > 0)) });
    if (!quiet) await handOn(reading, query, page, fresh);
  }
  return firstKey === undefined ? found : join(found, edgesOf(page, found, lastKey, firstKey));
};

/** Takes in that a page names a call. @param onPage the keys that the page had before */
const note = (found: Growing, { key, observation, isInside }: Row, request: Page['request'], onPage: Set<unknown>) => {
  const { ids, repeatedLater, places } = found;
  if (observation && ids.has(key) && !onPage.has(key)) repeatedLater.add(key);
  onPage.add(key);
  ids.set(key, isInside);
  places.set(key, [places.get(key)?.[0] ?? request, request]);
};

/** The evidence of both ends of a page. @param lastKey of the page before @param firstKey of this one */
const edgesOf = (page: Page, { places, first, last }: Growing, lastKey: string | undefined, firstKey: string): Seen => {
  const { request, count, isFull } = page;
  const goesOn = places.get(lastKey ?? firstKey)?.[1] === request && places.get(firstKey)?.[0] !== request;
  const gaps: Seen['gaps'] = goesOn || lastKey === undefined ? [] : [[lastKey, firstKey]];
  const endsFull = isFull && count > 1 && (count === request.size || request.index > 0);
  return { endsFull, gaps, opening: { first, last } };
};

/** One record of a page: a call, or the reason why it is none. */
type Row = ReturnType<typeof readRows>[number];

const readRows = (list: ListConfig, query: ListQuery, { observedAt }: Page, part: readonly RawRecord[]) => {
  const leftOut = query.summary && canLeaveOut(list) ? list.exclude : [];
  const rules = { observedAt, carries: new Set(list.authoritative_fields), leftOut };
  const { window } = query;
  const asked = window && { ...axisOf(list, window.axis), ...boundsOf(list, query, window) };
  return part.map(({ value, bytes }) => {
    const unless = { reason: undefined, observation: undefined, uncarried: [] };
    const observed = { ...unless, ...observeRecord(value, { ...rules, bytes }) };
    const { observation } = observed;
    const key = observation?.callId ?? `${rejectedMark}${createHash('sha1').update(bytes()).digest('hex')}`;
    const at = asked && observation && parseTimestamp(JsonRecord.of(value)?.at(asked.record_field));
    /** The call with its time, where it has one and a window is asked for. */
    const mark: Mark | undefined = at === undefined ? undefined : { at, callId: key };
    /** Whether its time is inside the window; a call without a time counts as inside. */
    const isInside =
      observation !== undefined && (!window || at === undefined || (at >= window.from && at < window.to));
    const distance = asked === undefined || at === undefined ? 0 : outsideBounds(asked, at);
    /** Microseconds outside the bounds that were sent; 0 where it is no further than times are printed, or than a step of a bound. */
    const beyond = distance > Math.max(list.bounds_slack_ms * 1000, boundStep(list)) ? distance : 0;
    return { ...observed, key, bytes, mark, isInside, beyond };
  });
};

/** Microseconds by which a time is outside the bounds that a query sends; 0 on a side that it cannot send. */
const outsideBounds = (asked: AxisConfig & ReturnType<typeof boundsOf>, time: Micros): Micros => {
  if (asked.from_param !== undefined && time < asked.from) return asked.from - time;
  return asked.to_param !== undefined && time > asked.to ? time - asked.to : 0;
};

/**
 * Each record once. Two with one id in one answer are one tie: the record of the higher text stays, whole. Heavy fields
 * come last, so that listings without them choose alike.
 */
const chooseRows = ({ client: { list }, tally }: Reading, rows: readonly Row[]): readonly Row[] => {
  const orderOf = ({ observation }: Row): string => {
    const light = Object.entries(observation?.fields.toJSON() ?? {}).filter(([name]) => !list.exclude.includes(name));
    return JSON.stringify([light, observation?.fields]);
  };
  const chosen = new Map<string, Row>();
  for (const row of rows) {
    const other = chosen.get(row.key);
    const [order, otherOrder] = other === undefined ? ['b', 'a'] : [orderOf(row), orderOf(other)];
    if (other !== undefined && order !== otherOrder) tally.conflicting.add(row.key);
    if (order <= otherOrder) continue;
    chosen.set(row.key, row);
    for (const field of row.uncarried) tally.uncarried.set(field, (tally.uncarried.get(field) ?? 0) + 1);
  }
  return [...chosen.values()];
};

/** Where the times of the rows are. */
const placeRows = (list: ListConfig, rows: readonly Row[]) => {
  const step = boundStep(list);
  const inside = rows.flatMap(({ isInside, mark }) => (isInside && mark ? [mark] : [])).sort((a, b) => a.at - b.at);
  return {
    aligned: rows.every(({ mark }) => mark === undefined || mark.at % step === 0),
    first: inside[0],
    last: inside.at(-1),
    outOfBounds: rows.filter(({ beyond }) => beyond > 0).length,
    undated: rows.filter(({ observation, mark }) => observation && !mark).length,
    furthest: rows.reduce((most, { beyond }) => Math.max(most, beyond), 0),
  };
};

const handOn = async ({ handlers }: Reading, query: ListQuery, page: Page, rows: readonly Row[]) => {
  const { observedAt, receivedAt, size, keep } = page;
  const rejected = rows.flatMap(({ reason, bytes }) =>
    reason === undefined ? [] : [rejectRecord(bytes(), reason, receivedAt, query.window)],
  );
  if (rejected.length > 0) await handlers.onRejected?.(rejected);
  const observations = rows.flatMap(({ observation }) => observation ?? []);
  if (observations.length === 0) return;
  const outside = new Set(rows.filter(({ isInside }) => !isInside).map(({ key }) => key));
  const whole = size <= partBytes ? keep : undefined;
  await handlers.onPage?.(observations, { outside, observedAt, summary: query.summary === true, keep: whole });
};

/** Record for quarantine: its exact bytes, and its window as origin. */
const rejectRecord = (body: Buffer, reason: string, receivedAt: Date, window: Window | undefined): RejectedRecord => ({
  reason,
  body: Buffer.from(body),
  source: 'poll',
  origin: `list:${window === undefined ? 'all' : `${window.axis}:${iso(window.from)}`}`,
  receivedAt,
});
