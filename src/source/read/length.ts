/** Judges whether a list shows all of a long window, or only a part of it without a word. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { dayMicros as day, type Micros } from '../../lib/timestamps.ts';
import type { Span } from '../list/facts.ts';
import { axisOf, boundStep, isCuttable, type Window, type WindowQuery } from '../list/list-query.ts';
import { ask, askQuietly, type Judge, unless, type View } from './ask.ts';
import { nothing } from './evidence.ts';

/** No list shows less of a window, in microseconds. */
const hour = day / 24;
const minute = hour / 60;
/** The length of a window with its bounds as they are sent. */
export const lengthAsked = (list: ListConfig, { from, to }: Omit<Window, 'axis'>): Micros => {
  const step = boundStep(list);
  return Math.ceil(to / step) * step - Math.floor(from / step) * step + (list.from_inclusive ? 0 : step);
};

/** Shorter windows cannot be asked for. */
export const shortest = (list: ListConfig): Micros => lengthAsked(list, { from: 0, to: boundStep(list) });

const isDated = ({ first, last }: Span): boolean => first.at <= last.at;

/**
 * The length, in microseconds, up to which the list shows all of such a window. A list may show only the beginning or
 * the end of a longer window, and that part may be empty. Two windows at least as long are therefore asked for: one
 * that begins with a known call, and one that ends with one. Half as long ones follow.
 */
export function* judgeLength(view: View, query: WindowQuery, { first, last }: Span): Judge<Micros> {
  const { list, learned } = view;
  const { axis } = query.window;
  const length = lengthAsked(list, query.window);
  // Without bounds, a window of any length gets the same answer.
  if (!isCuttable(axisOf(list, axis))) return length;
  const step = boundStep(list);
  // With calls in more than half of a step, it is taken for shown: the list has no shorter windows to compare.
  const isSpread = step > hour && last.at - first.at > step / 2 + 2 * minute;
  const shownTo = Math.max(hour, learned.length[axis] ?? 0, isSpread ? shortest(list) : 0);
  if (isSpread) yield { kind: 'learn', seen: { length: { ...learned.length, [axis]: shownTo } } };
  if (isDated({ first, last })) yield { kind: 'learn', seen: { span: { ...learned.span, [axis]: { first, last } } } };
  if (length <= shownTo) return length;
  const span = learned.span[axis] ?? (yield* findCalls(view, query));
  // Calls without usable times show nothing. Where no call ever came, longer windows may hide them all, the shortest too.
  if (!isDated(span)) return learned.undated ? Math.max(day, shortest(list)) : shownTo;
  // Few lengths are ever shown, because they double.
  for (
    let next = hour * 2 ** (Math.floor(Math.log2(length / hour)) + 1);
    next > Math.max(shownTo, shortest(list));
    next /= 2
  ) {
    if (!(yield* isShown(view, query, span, next))) continue;
    yield { kind: 'learn', seen: { length: { ...learned.length, [axis]: next } } };
    return next;
  }
  return shownTo;
}

/** Undefined where the service does not answer: nothing is wrong with the window itself. */
const ifAnswered = <T>(judge: Judge<T>): Judge<T | undefined> => unless(() => true, judge);

const quickly = (query: WindowQuery, from: Micros, to: Micros): WindowQuery => {
  return { ...query, retries: 1, window: { axis: query.window.axis, from, to } };
};

/** The first and last call of a recent window: from then on a fact, also where none came. */
function* findCalls({ now, learned }: View, query: WindowQuery): Judge<Span> {
  let span: Span = { first: nothing.first, last: nothing.last };
  for (const hours of [8, 72, 720]) {
    const recent = quickly(query, now - hours * hour, now);
    if (!isDated(span)) span = (yield* ifAnswered(askQuietly(recent, { until: () => true }))) ?? span;
  }
  const { first, last } = span;
  yield { kind: 'learn', seen: { span: { ...learned.span, [query.window.axis]: { first, last } } } };
  return span;
}

/** Whether windows of a length show the call at their beginning, and the one at their end. */
function* isShown(view: View, query: WindowQuery, { first, last }: Span, length: Micros): Judge<boolean> {
  // Bounds are rounded, and times printed, a little off.
  const slack = Math.max(view.list.bounds_slack_ms * 1000, minute) + boundStep(view.list);
  const begin = quickly(query, first.at - slack, first.at + length + 2 * slack);
  if (!(yield* ifAnswered(showsCall(view, begin, first.callId)))) return false;
  const end = quickly(query, last.at - length - 2 * slack, last.at + slack);
  return (yield* ifAnswered(showsCall(view, end, last.callId, true))) ?? false;
}

/** @param isLast whether the call is probably on the last page. */
function* showsCall(
  { pageSize = 1, hasRows }: View,
  query: WindowQuery,
  callId: string,
  isLast = false,
): Judge<boolean> {
  const { lastTotal = 0 } = isLast ? yield* ask({ kind: 'total', query }) : nothing;
  const offset = Math.floor((lastTotal - 1) / pageSize) * pageSize;
  const rows = offset > 0 && hasRows ? yield* askQuietly(query, { rows: [offset, pageSize], upToCap: true }) : nothing;
  const until = (ids: ReadonlyMap<string, boolean>): boolean => ids.has(callId);
  return until(rows.ids) || until((yield* askQuietly(query, { until })).ids);
}
