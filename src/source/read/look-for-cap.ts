/** Finds out whether a service gives fewer records than a query holds without saying so. */

import type { ListConfig } from '../../../schemas/config/list.ts';
import { dayMicros as day } from '../../lib/day.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { type Micros, nowMicros } from '../../lib/timestamps.ts';
import { hasGaps } from '../list/list-client.ts';
import { axisOf, boundStep, halveWindow, isCuttable, type ListQuery, type Window } from '../list/list-query.ts';
import type { ReadContext } from './read-context.ts';
import { isCall, type Pass, passOver } from './read-pass.ts';

/** Fewer records are compared with nothing. */
const fewest = 3;
/**
 * Hardly anybody caps a query lower, so below it a cap is looked at twice. But where nothing leads to a second page, the first one is
 * the cap.
 */
const smallestCap = ({ pagination }: ListConfig): number => (pagination?.style === 'none' ? 2 : 10);
const fewestOf = (list: ListConfig): number => Math.min(fewest, smallestCap(list));

type WindowQuery = ListQuery & { readonly window: Window };

/**
 * Evidence of a read window about a cap. `none`: below its count. `found`: now in `learned.cap`. `changed`: calls
 * came since. `unclear`: no comparison is possible.
 */
type CapFinding = 'none' | 'found' | 'changed' | 'unclear';

/**
 * A capped query never passes a certain count. Only a window with as many records as the largest query is therefore
 * suspected. Its halves together must name no further calls. A total above its count is evidence too.
 * @param pass the reading of `query.window`.
 * @throws CallsyncError of a finally failed request, or the signal's reason.
 */
export const lookForCap = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<CapFinding> => {
  const { list, learned } = context.client;
  const { rows, lastTotal } = pass;
  const isRefusedEnd = endsInDoubt(context, pass);
  // Omitted records count for a cap too, so that no two queries end at the same count.
  const isDoubtful = isRefusedEnd || (lastTotal === undefined && hasGaps(learned) && rows >= fewestOf(list));
  const isSuspect = (): boolean =>
    isDoubtful ||
    (rows >= fewestOf(list) && rows >= learned.records && (lastTotal === undefined || rows >= learned.total));
  if (!isCuttable(axisOf(list, query.window.axis)))
    return !isRefusedEnd && isTakenOnTrust(list, rows) ? 'none' : 'unclear';
  if (!isSuspect()) return 'none';
  if (lastTotal !== undefined) await askForTotal(context, query);
  const finding = isSuspect() ? await compareWithHalves(context, query, pass) : 'none';
  // Not every reading counts: one from which calls left while it was paged may have gone past the cap.
  if (finding === 'none') learned.records = Math.max(learned.records, rows);
  if (finding === 'found' && !isDoubtful) learned.cap = Math.min(learned.cap ?? Number.POSITIVE_INFINITY, rows);
  return finding;
};

/** Whether only refusals end a list, behind a page that is as full as any. */
export const endsInDoubt = ({ client }: ReadContext, { refusedBehind = 0 }: Pass): boolean =>
  refusedBehind >= Math.max(2, client.learned.page);

/**
 * A list that cannot be cut allows no comparison, and its total may be capped like its rows. Its configuration must
 * therefore state its limit. Unconfigured paging is a problem anyway.
 */
const isTakenOnTrust = (list: ListConfig, rows: number): boolean =>
  rows < fewestOf(list) || list.max_results !== undefined || list.pagination === undefined;

/**
 * Whether a list with fewer rows than its total holds more of them. If its halves name no more, the total is wrong.
 * @param pass the reading of `query.window`.
 * @throws CallsyncError of a finally failed request, or the signal's reason.
 */
export const holdsMore = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<boolean> => {
  const { list, learned } = context.client;
  if (!isCuttable(axisOf(list, query.window.axis))) return false;
  const finding = pass.rows >= fewestOf(list) ? await compareWithHalves(context, query, pass) : 'none';
  // Short at one count twice: a cap, also where totals are late and happen to say as much.
  if (finding === 'found' && learned.short === pass.rows) learned.cap = pass.rows;
  if (finding === 'found') learned.short = pass.rows;
  return finding !== 'none';
};

/** A cap counts rows, also those that name a call again. */
const compareWithHalves = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<CapFinding> => {
  const halves = cutAmidCalls(query.window, pass, boundStep(context.client.list));
  if (halves === undefined) {
    if (pass.rows < smallestCap(context.client.list)) return 'none';
    const wider = { ...query.window, from: query.window.from - day, to: query.window.to + day };
    const around = await passOver(context, summaryOf(query, wider), { quiet: true, stopBeyond: pass.rows });
    return around.rows > pass.rows && !endsInDoubt(context, pass) ? 'none' : 'unclear';
  }
  const further = new Set<string>();
  const suspects: { readonly window: Window; readonly listing: Pass }[] = [];
  for (const window of halves) {
    const listing = await passOver(context, summaryOf(query, window), { quiet: true });
    for (const id of listing.ids.keys()) if (isCall(id) && !pass.ids.has(id)) further.add(id);
    // All of them in one half, or only refusals at its end: that half is as suspect as the whole.
    if (listing.rows >= pass.rows || endsInDoubt(context, listing)) suspects.push({ window, listing });
  }
  if (further.size === 0) {
    for (const { window, listing } of suspects) {
      const inside = await compareWithHalves(context, { ...query, window }, listing);
      if (inside !== 'none') return inside;
    }
    return 'none';
  }
  // A replica that is late and answers in turn looks like a cap once, and a low cap costs many requests.
  for (let looks = pass.rows < smallestCap(context.client.list) ? 2 : 1; looks > 0; looks--) {
    const again = await passOver(context, summaryOf(query, query.window), { quiet: true });
    if (again.rows >= pass.rows + further.size) return 'changed';
  }
  return 'found';
};

/** Cuts a window in the middle of its calls; undefined where all are within one step. */
const cutAmidCalls = (window: Window, { span, outOfBounds }: Pass, step: Micros): readonly Window[] | undefined => {
  // Times in records may be outside the window, such as those of another zone: then they do not say where the calls are.
  if (span.first > span.last || outOfBounds.count > 0) return halveWindow(window, step);
  const middle = Math.ceil((span.first + span.last) / 2 / step) * step;
  if (middle <= span.first || middle > span.last) return undefined;
  return [
    { ...window, to: middle },
    { ...window, from: middle },
  ];
};

const summaryOf = (query: ListQuery, window: Window): ListQuery => ({ ...query, window, summary: true });

/** The total of all times: where it is larger than a count, totals are not capped at that count. */
const askForTotal = async ({ client, tally }: ReadContext, { window, signal }: ListQuery): Promise<void> => {
  if (window === undefined) return;
  tally.requests++;
  const always = { axis: window.axis, from: Date.UTC(2000, 0, 1) * 1000, to: nowMicros() + day };
  try {
    await client.readTotal({ window: always, signal, retries: 1 });
  } catch (error) {
    // Some services refuse a window that long; the halves then decide.
    if (!(error instanceof CallsyncError) || error.code !== 'LIST_REFUSED') throw error;
  }
};
