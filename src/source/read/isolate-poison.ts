/** Reads the records around those that make every answer fail: row by row, then call by call. */
import { CallsyncError } from '../../lib/errors.ts';
import type { Micros } from '../../lib/timestamps.ts';
import { isPoison, isRefusal, type ListClient } from '../list/list-client.ts';
import { axisOf, canLeaveOut, isCuttable, type Window, type WindowQuery } from '../list/list-query.ts';
import { observeCall } from '../list/observe-call.ts';
import { type ReadContext, reportProblem } from './read-context.ts';
import { chooseProof, isSameSet, notShown, readAs } from './read-part.ts';
import { capOf, createPassState, isCall, passOver, rejectRecord, takePage } from './read-pass.ts';

/** Rows asked for at once; halved down to one where they fail. A power of two, so that halves are pages too. */
const rowsAtOnce = 64;
/** From this many failing rows on, the service counts as failing, and not single records. */
const maxFailures = 20;

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
      if (isRefusal(error) && !isRefusal(cause)) return true;
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
  const { state, total, unread, isListed, isSteady } = reading;
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

/** Undefined where the answer fails, perhaps for a record in it. */
const unlessPoison = <T>(asked: Promise<T>): Promise<T | undefined> =>
  asked.catch((error: unknown) => {
    if (isPoison(error)) return undefined;
    throw error;
  });

type Reading = ReturnType<typeof startReading>;

const startReading = (context: ReadContext, query: WindowQuery, cause: CallsyncError) => ({
  context,
  query: { ...query, retries: 1 },
  cause,
  state: createPassState(),
  total: undefined as number | undefined,
  /** Whether every answer had the same total. */
  isSteady: true,
  /** Whether the rows, or a listing of them, came to an end. */
  isListed: false,
  /** Offsets of rows that fail alone. */
  failed: [] as number[],
  /** Listed calls that the service does not return. */
  unread: 0,
});

const readApart = async (...asked: Parameters<typeof startReading>): Promise<Reading> => {
  const reading = startReading(...asked);
  reading.isListed = (await readRows(reading)) || (await readListedCalls(reading));
  for (const offset of reading.failed) await readRowByCall(reading, offset);
  return reading;
};

/** Whether as many calls came as every total says. */
const isWhole = ({ isListed, isSteady, unread, total, state }: Reading): boolean =>
  isListed && isSteady && unread === 0 && total === state.ids.size;

/** Reads pages of ever fewer rows; false where the style of paging cannot ask for them, or the list is longer than a query. */
const readRows = async (reading: Reading): Promise<boolean> => {
  const { context, query, state, failed } = reading;
  const { client, tally } = context;
  if (client.readRows === undefined) return false;
  let size = rowsAtOnce;
  for (let offset = 0; offset < capOf(client); ) {
    tally.requests++;
    const page = await unlessPoison(client.readRows(query, offset, size));
    noteTotal(reading, page?.total);
    const end = offset + (page?.count ?? 0);
    const isEnd = page !== undefined && (page.count === 0 || end === reading.total);
    if (page !== undefined && (isEnd || page.count >= size)) await takePage(context, query, page, state);
    // Fewer records than requested mean that the list ends here, or that the service limits the page.
    else if (size > 1) {
      size /= 2;
      page?.dispose();
      continue;
    } else if (failed.push(offset) > maxFailures) throw reading.cause;
    page?.dispose();
    if (isEnd) return true;
    offset += size;
    while (size < rowsAtOnce && offset % (2 * size) === 0) size *= 2;
  }
  return false;
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
  const listing = await unlessPoison(passOver(context, { ...query, summary: true }, { quiet: true }));
  if (listing === undefined) return false;
  reading.isSteady &&= listing.isSteady;
  noteTotal(reading, listing.lastTotal);
  for (const [id, isInside] of listing.ids) if (isCall(id)) await readOrCount(reading, id, isInside);
  return !listing.tooLarge;
};

/** A row that fails is named by its summary, and its call asked for alone. */
const readRowByCall = async (reading: Reading, offset: number): Promise<void> => {
  const { context, query } = reading;
  const { client } = context;
  const row = createPassState();
  if (client.list.single_path !== undefined && canLeaveOut(client.list) && query.summary !== true) {
    context.tally.requests++;
    const page = client.readRows && (await unlessPoison(client.readRows({ ...query, summary: true }, offset, 1)));
    if (page !== undefined) await takePage(context, query, page, row, true);
  }
  const [[callId, isInside] = []] = row.ids;
  if (callId === undefined || !isCall(callId)) reading.unread++;
  // Also one outside the window: the list may filter by another time than it prints, and no other window gives it.
  else await readOrCount(reading, callId, isInside);
};

/** Asks for one call and hands it on like one of a page. */
const readOrCount = async (reading: Reading, callId: string, isInside = true): Promise<void> => {
  const { context, query, state, cause } = reading;
  const { client, handlers, tally } = context;
  tally.requests++;
  const answer = await unlessPoison(observeCall(client, callId, { signal: query.signal, retries: query.retries }));
  if (answer === undefined && ++reading.unread > maxFailures) throw cause;
  if (answer === undefined || answer.kind === 'unknown') return;
  const { bytes, observedAt, receivedAt } = answer.fetched;
  if (answer.kind === 'rejected')
    return await handlers.onRejected?.([rejectRecord(bytes, answer.reason, receivedAt, query.window)]);
  const outside = new Set(isInside ? [] : [callId]);
  await handlers.onPage?.([answer.observation], { outside, observedAt, summary: false });
  state.ids.set(callId, isInside);
};
