/** Finds out whether a list shows all of a long window, or only a part of it without a word. */

import type { ListConfig } from '../../../schemas/config/list.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { dayMicros as day, type Micros, nowMicros } from '../../lib/timestamps.ts';
import { axisOf, boundStep, isCuttable, type Window, type WindowQuery } from '../list/list-query.ts';
import type { ReadContext } from './read-context.ts';
import { createPassState, type Pass, passOver, takePage } from './read-pass.ts';

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

/**
 * The length, in microseconds, up to which the list shows all of such a window. A list may show only the beginning or
 * the end of a longer window, and that part may be empty. Two windows at least as long are therefore asked for: one
 * that begins with a known call, and one that ends with one. Half as long ones follow.
 * @throws the signal's reason.
 */
export const findLength = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<Micros> => {
  const { list, learned } = context.client;
  const { axis } = query.window;
  const length = lengthAsked(list, query.window);
  // Without bounds, a window of any length gets the same answer.
  if (!isCuttable(axisOf(list, axis))) return length;
  const step = boundStep(list);
  const isDated = ({ first, last }: Pass['span']): boolean => first <= last;
  // With calls in more than half of a step, it is taken for shown: the list has no shorter windows to compare.
  const isSpread = step > hour && pass.span.last - pass.span.first > step / 2 + 2 * minute;
  const shownTo = Math.max(hour, learned.length.get(axis) ?? 0, isSpread ? shortest(list) : 0);
  if (isSpread) learned.length.set(axis, shownTo);
  if (isDated(pass.span)) learned.span.set(axis, pass.span);
  if (length <= shownTo) return length;
  const quick = { ...query, summary: true, retries: 1 };
  const ask = (from: Micros, to: Micros): WindowQuery => ({ ...quick, window: { axis, from, to } });
  let span = learned.span.get(axis) ?? pass.span;
  for (const hours of learned.span.has(axis) ? [] : [8, 72, 720]) {
    const recent = ask(nowMicros() - hours * hour, nowMicros());
    const listing = isDated(span) ? undefined : passOver(context, recent, { quiet: true, until: () => true });
    span = (await ifAnswered(listing))?.span ?? span;
  }
  learned.span.set(axis, span);
  // Calls without usable times show nothing. Where no call ever came, longer windows may hide them all.
  if (!isDated(span)) return Math.max(learned.undated ? day : shownTo, shortest(list));
  // Bounds are rounded, and times printed, a little off.
  const slack = Math.max(list.bounds_slack_ms * 1000, minute) + step;
  // Few lengths are ever shown, because they double.
  for (
    let next = hour * 2 ** (Math.floor(Math.log2(length / hour)) + 1);
    next > Math.max(shownTo, shortest(list));
    next /= 2
  ) {
    const begin = ask(span.first - slack, span.first + next + 2 * slack);
    const end = ask(span.last - next - 2 * slack, span.last + slack);
    const isBegun = await ifAnswered(showsCall(context, begin, span.firstId));
    if (!isBegun || !(await ifAnswered(showsCall(context, end, span.lastId, true)))) continue;
    learned.length.set(axis, next);
    return next;
  }
  return shownTo;
};

/** Undefined where the service does not answer: nothing is wrong with the window itself. */
const ifAnswered = async <T>(asked: Promise<T> | undefined): Promise<T | undefined> => {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CallsyncError) return undefined;
    throw error;
  }
};

/** @param isLast whether the call is probably on the last page. */
const showsCall = async (context: ReadContext, query: WindowQuery, id: string, isLast = false): Promise<boolean> => {
  const { client, tally } = context;
  const { pageSize = 1 } = client;
  const until = (ids: ReadonlyMap<string, boolean>): boolean => ids.has(id);
  const total = (isLast && (await client.readTotal(query))) || 0;
  const offset = Math.floor((total - 1) / pageSize) * pageSize;
  const page = offset > 0 ? await client.readRows?.(query, offset, pageSize) : undefined;
  const state = createPassState();
  if (page !== undefined) await takePage(context, query, page, state, true);
  page?.dispose();
  tally.requests += Number(total > 0) + Number(page !== undefined);
  return until(state.ids) || until((await passOver(context, query, { quiet: true, until })).ids);
};
