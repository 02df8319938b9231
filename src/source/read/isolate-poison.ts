/** Reads the records around those that make every answer fail: row by row, then call by call. */
import { CallsyncError } from '../../lib/errors.ts';
import type { Micros } from '../../lib/timestamps.ts';
import { isPoison, type ListClient } from '../list/list-client.ts';
import { axisOf, canLeaveOut, isCuttable, type ListQuery, type Window } from '../list/list-query.ts';
import { type ReadContext, reportProblem } from './read-context.ts';
import { chooseProof, isSameSet, notShown, readAs, readCall } from './read-part.ts';
import { capOf, createPassState, isCall, passOver, takePage } from './read-pass.ts';

type WindowQuery = ListQuery & { readonly window: Window };

/** Rows asked for at once; halved down to one where they fail. A power of two, so that halves are pages too. */
const rowsAtOnce = 64;
/** From this many failing rows on, the service counts as failing, and not single records. */
const maxFailures = 20;

const refusals: ReadonlySet<string> = new Set(['LIST_REFUSED', 'SERVICE_REFUSED']);

/**
 * Whether the service answers the first page of another question: about a second before the window, or long ago. A
 * list that cannot be cut gets the same question.
 * If the service is away, the window is no poison. A refusal is an answer, because some services know no year 2000.
 * @param cause the failure of the window; after a refusal, another refusal says nothing.
 * @throws the signal's reason.
 */
export const isServiceUp = async (
  client: ListClient,
  window: Window,
  { cause, signal }: { readonly cause: CallsyncError; readonly signal: AbortSignal | undefined },
): Promise<boolean> => {
  const { axis, from } = window;
  const secondBefore = (to: Micros): Window => ({ axis, from: to - 1_000_000, to });
  const others = [secondBefore(from - 1_000_000), secondBefore(Date.UTC(2000, 0, 1) * 1000)];
  for (const asked of isCuttable(axisOf(client.list, axis)) ? others : [window]) {
    try {
      const pages = client.readPages({ window: asked, summary: true, retries: 1, signal });
      for await (const page of pages) {
        page.dispose();
        break;
      }
      return true;
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      if (refusals.has(error.code) && !refusals.has(cause.code)) return true;
    }
  }
  return false;
};

/**
 * Reads a window that cannot be split and fails as a whole; reports it if calls are missing.
 * @throws CallsyncError where too much fails, or the signal's reason.
 */
export const isolatePoison = async (context: ReadContext, query: WindowQuery, cause: CallsyncError) => {
  const first = await readApart(context, query, cause);
  // Calls come and go. A call that left can hide a call that slipped between two answers, but not twice in the same way.
  const reading =
    isWhole(first) && chooseProof(context, query) !== 'total' ? await readApart(context, query, cause) : first;
  const { state, total, unread, isListed } = reading;
  const { isSteady } = reading;
  const pass = { ...state, firstTotal: total, lastTotal: total, largestTotal: total, isSteady };
  if (isWhole(first) && isWhole(reading) && isSameSet(first.state.ids, state.ids)) return readAs(pass, 'total');
  const what = !isListed
    ? 'it cannot be listed'
    : unread > 0
      ? `${unread} calls cannot be read`
      : 'it was read row by row';
  const reason = `${what} (${cause.code})`;
  reportProblem(context, query.window, 'unreadable', `fails as a whole: ${reason}; ${state.ids.size} calls were read.`);
  return notShown(pass, reason);
};

const readApart = async (context: ReadContext, query: WindowQuery, cause: CallsyncError): Promise<Reading> => {
  const reading: Reading = {
    context,
    query: { ...query, retries: 1 },
    cause,
    state: createPassState(),
    total: undefined,
    isSteady: true,
    isListed: false,
    failed: [],
    unread: 0,
  };
  reading.isListed = (await readRows(reading)) || (await readListedCalls(reading));
  for (const offset of reading.failed) await readRowByCall(reading, offset);
  return reading;
};

/** Whether as many calls came as every total says. */
const isWhole = ({ isListed, isSteady, unread, total, state }: Reading): boolean =>
  isListed && isSteady && unread === 0 && total === state.ids.size;

interface Reading {
  readonly context: ReadContext;
  readonly query: WindowQuery;
  readonly cause: CallsyncError;
  readonly state: Parameters<typeof takePage>[3];
  total: number | undefined;
  /** Whether every answer had the same total. */
  isSteady: boolean;
  /** Whether the rows, or a listing of them, came to an end. */
  isListed: boolean;
  /** Offsets of rows that fail alone. */
  readonly failed: number[];
  /** Listed calls that the service does not return. */
  unread: number;
}

/** Reads pages of ever fewer rows; false where the style of paging cannot ask for them, or the list is longer than a query. */
const readRows = async (reading: Reading): Promise<boolean> => {
  const cap = capOf(reading.context.client);
  for (let offset = 0; offset < cap; offset += rowsAtOnce) {
    const came = await readSpan(reading, offset, rowsAtOnce);
    if (came === 'unsupported') return false;
    if (came === 'end') return true;
  }
  return false;
};

/** `end`: the list ends within the span. */
const readSpan = async (reading: Reading, offset: number, size: number): Promise<'more' | 'end' | 'unsupported'> => {
  const { context, query, state, failed } = reading;
  const { client, tally } = context;
  tally.requests++;
  try {
    const page = await client.readRows(query, offset, size);
    if (page === undefined) return 'unsupported';
    noteTotal(reading, page.total);
    if (page.count === 0 || page.count >= size || offset + page.count === reading.total) {
      await takePage(context, query, page, state);
      page.dispose();
      return page.count === 0 || offset + page.count === reading.total ? 'end' : 'more';
    }
    page.dispose();
    // Fewer records than requested mean that the list ends here, or that the service limits the page.
  } catch (error) {
    if (!isPoison(error)) throw error;
    if (size === 1) {
      failed.push(offset);
      if (failed.length > maxFailures) throw reading.cause;
      return 'more';
    }
  }
  const first = await readSpan(reading, offset, size / 2);
  return first === 'more' ? await readSpan(reading, offset + size / 2, size / 2) : first;
};

const noteTotal = (reading: Reading, total: number | undefined): void => {
  if (total === undefined) return;
  reading.isSteady &&= reading.total === undefined || reading.total === total;
  reading.total = total;
};

/** Names the calls by a summary listing and asks for each; false where that is not possible. */
const readListedCalls = async (reading: Reading): Promise<boolean> => {
  const { context, query } = reading;
  const { list } = context.client;
  if (list.single_path === undefined || !canLeaveOut(list)) return false;
  try {
    const listing = await passOver(context, { ...query, summary: true }, { quiet: true });
    reading.isSteady &&= listing.isSteady;
    noteTotal(reading, listing.lastTotal);
    for (const [id, isInside] of listing.ids) if (isCall(id)) await readOrCount(reading, id, isInside);
    return !listing.tooLarge;
  } catch (error) {
    if (isPoison(error)) return false;
    throw error;
  }
};

/** A row that fails is named by its summary, and its call asked for alone. */
const readRowByCall = async (reading: Reading, offset: number): Promise<void> => {
  const { context, query } = reading;
  const { client } = context;
  const row = createPassState();
  if (client.list.single_path !== undefined && canLeaveOut(client.list) && query.summary !== true) {
    context.tally.requests++;
    try {
      const page = await client.readRows({ ...query, summary: true }, offset, 1);
      if (page !== undefined) await takePage(context, query, page, row, true);
    } catch (error) {
      if (!isPoison(error)) throw error;
    }
  }
  const [[callId, isInside] = []] = row.ids;
  if (callId === undefined || !isCall(callId)) reading.unread++;
  // Also one outside the window: the list may filter by another time than it prints, and no other window gives it.
  else await readOrCount(reading, callId, isInside);
};

const readOrCount = async (reading: Reading, callId: string, isInside = true): Promise<void> => {
  try {
    if (await readCall(reading.context, reading.query, callId)) reading.state.ids.set(callId, isInside);
  } catch (error) {
    if (!isPoison(error)) throw error;
    reading.unread++;
    if (reading.unread > maxFailures) throw reading.cause;
  }
};
