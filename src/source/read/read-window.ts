/** Reads a window of the call list completely: each call of it exactly as often as needed, none left out in silence. */

import type { ListConfig } from '../../../schemas/config/list.ts';
import type { Shown } from '../../../schemas/observation.ts';
import type { CallsyncError } from '../../lib/errors.ts';
import { dayMicros as day, type Micros, nowMicros } from '../../lib/timestamps.ts';
import { hasGaps, isPoison, isRefusal, type ListClient } from '../list/list-client.ts';
import type { ListQuery, Window, WindowQuery } from '../list/list-query.ts';
import { axisOf, boundStep, halveWindow, isCuttable, splitWindow } from '../list/list-query.ts';
import { findLength, lengthAsked, shortest } from './find-length.ts';
import { isolatePoison, isServiceUp } from './isolate-poison.ts';
import { createTally, type Handlers, type ReadContext, reportProblem } from './read-context.ts';
import { readInstant } from './read-instant.ts';
import { type CutPart, endsFull, notShown, type ReadPart, readPart } from './read-part.ts';
import { capOf, isCall, type Pass, passOver } from './read-pass.ts';

interface ReadWindowOptions extends Handlers {
  readonly client: ListClient;
  readonly window: Window;
  /** `now` (default) proves completeness before this returns. `later` leaves the second listing to reconcile. */
  readonly confirm?: 'now' | 'later';
  /** Read without the heavy fields. */
  readonly summary?: boolean;
  /** Called when a part of the window is read or cut. */
  readonly onProgress?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** JSON bytes parsed and handed on at once; 8 MiB by default. */
  readonly partBytes?: number;
}

/** A contiguous part of the window that was read in one piece. */
interface WindowPart extends Pick<ReadPart, 'shown' | 'reason'> {
  readonly from: Micros;
  readonly to: Micros;
  /** Distinct calls inside the part. */
  readonly calls: number;
}

export type WindowResult = Awaited<ReturnType<typeof readWindow>>;

/** Part of the window still to be read. */
interface Open {
  readonly window: Window;
  /** Set once larger questions failed: then failures are expected, and not waited for. */
  readonly retries?: number;
  /** Times that calls came while it was compared with its halves. */
  readonly changes?: number;
}

const maxChanges = 3;
/** From this many failing parts of a window on, the cause is not a single record: isolating one takes about 30. */
const maxFailures = 200;
/** The same of parts that were not answered in time: each takes minutes, and the work around this ends in a quarter of an hour. */
const maxTimeouts = 4;
/** After this many failures, callsync checks again whether the service is up. */
const askEvery = 10;

/**
 * Reads `[from, to)`, in microseconds on one axis of the list. Passes on all records, inside or outside the window,
 * in any order and possibly more than once (interface §4.2).
 * Cuts a part that is too large for one query, or fails as a whole. Unreadable and unproven parts are in `problems`
 * and have `shown: none`.
 * @throws CallsyncError if the service is away or refuses the query (after source.limits.retries); earlier records
 * stay valid. The signal's reason when aborted.
 */
export const readWindow = async (options: ReadWindowOptions) => {
  const { client, window, onProgress } = options;
  const context: ReadContext = {
    client,
    handlers: options,
    confirm: options.confirm ?? 'now',
    partBytes: options.partBytes ?? 8 * 1024 * 1024,
    tally: createTally(),
    problems: [],
  };
  const { tally, problems } = context;
  const step = boundStep(client.list);
  const cuttable = isCuttable(axisOf(client.list, window.axis));
  const queue: Open[] = window.from < window.to ? [{ window }] : [];
  const parts: WindowPart[] = [];
  let calls = 0;

  for (let open = queue.shift(); open !== undefined; open = queue.shift()) {
    const query = { ...open, summary: options.summary, signal: options.signal };
    let part: Outcome = await readOpen(context, query);
    if (part.kind === 'changed') {
      queue.unshift({ ...open, changes: (open.changes ?? 0) + 1 });
      continue;
    }
    if (part.kind !== 'read') {
      const pieces = cuttable ? splitWindow(open.window, piecesFor(part, client), step) : [];
      if (pieces.length > 1) {
        const retries = retriesFor(part) ?? open.retries;
        queue.unshift(...pieces.map((piece) => ({ window: piece, ...(retries === undefined ? {} : { retries }) })));
        onProgress?.();
        continue;
      }
      part =
        part.kind === 'poison'
          ? await isolatePoison(context, query, part.cause)
          : await readInstant(context, query, part);
    }
    const read = await doubtWholeStep(context, query, part);
    reportUnproven(context, open.window, read);
    const { from, to } = open.window;
    const { ids, shown, reason } = read;
    calls += ids.size;
    parts.push({ from, to, calls: ids.size, shown, ...(reason === undefined ? {} : { reason }) });
    onProgress?.();
  }
  client.learned.longest = Math.min(client.learned.longest, tally.refusedLength / 2);
  return {
    /** Distinct calls inside the window. */
    calls,
    /** Pages and single calls asked for, repeated attempts not counted. */
    requests: tally.requests,
    /** Evidence of the weakest part. */
    shown: strength.find((shown) => parts.some((part) => part.shown === shown)) ?? 'total',
    /** In order of time; together they are the window. */
    parts,
    /** Windows that could not be read or proven complete. Every such window is here. */
    problems,
    /** Rows by which the list named and counted a call once more. */
    repeated: tally.repeated,
    conflicting: tally.conflicting.size,
    uncarried: Object.fromEntries(tally.uncarried),
  };
};

type Outcome =
  | ReadPart
  | CutPart
  /** The service answers, but not this question. */
  | { readonly kind: 'poison'; readonly cause: CallsyncError }
  /** Calls came while it was compared with its halves. */
  | { readonly kind: 'changed' };

/** If larger requests fail, callsync sends few smaller requests, because a time-out costs minutes. */
const retriesFor = (part: Exclude<Outcome, ReadPart>): number | undefined =>
  part.kind !== 'poison' ? undefined : part.cause.code === 'SERVICE_TIMEOUT' ? 0 : 1;

/** Reads one part. If its count may be the cap of the service, compares it with its halves. */
const readOpen = async (context: ReadContext, query: ListQuery & Open): Promise<Outcome> => {
  try {
    const part = await readPart(context, query);
    if (part.kind === 'cut') return await explainShortAnswer(context, query, part);
    if (context.confirm === 'later') return part;
    switch (await lookForCap(context, query, part.pass)) {
      case 'none': {
        const { list } = context.client;
        if (!canBeHalved(list, query)) return part;
        const length = lengthAsked(list, query.window);
        const shown = Math.max(shortest(list), await findLength(context, query, part.pass));
        if (length <= shown) return part;
        return { ...part, kind: 'cut', why: 'looks_truncated', pieces: Math.floor(length / shown) + 1 };
      }
      case 'found':
        return { kind: 'cut', why: 'looks_truncated', pass: part.pass, ids: part.ids };
      case 'changed':
        if ((query.changes ?? 0) < maxChanges) return { kind: 'changed' };
        return { kind: 'cut', why: 'disagrees', pass: part.pass, ids: part.ids };
      case 'unclear': {
        const detail = endsInDoubt(context, part.pass)
          ? `gave ${part.pass.ids.size} calls, ends with a page that the service refuses, and cannot be split for comparison. Set source.list.total_path or source.list.pagination.size_param.`
          : `gave ${part.pass.ids.size} calls, as many as any query, and cannot be split for comparison. Set source.list.max_results to the cap of the service.`;
        reportProblem(context, query.window, 'looks_truncated', detail);
        return notShown(part.pass, 'the service may have more calls than it returns');
      }
    }
  } catch (error) {
    const { client, tally } = context;
    const cuttable = isCuttable(axisOf(client.list, query.window.axis));
    // Many lists refuse a long range; a list that refuses every question is noticed below.
    const isTooLong = isRefusal(error) && cuttable && canBeHalved(client.list, query);
    if (!isPoison(error) && !isTooLong) throw error;
    tally.failures++;
    if (error.code === 'SERVICE_TIMEOUT') tally.timeouts++;
    if (tally.failures > maxFailures || tally.timeouts > maxTimeouts) throw error;
    const isAsked = cuttable && tally.failures % askEvery === 1;
    if (isAsked && !(await isServiceUp(client, query.window, { cause: error, signal: query.signal }))) throw error;
    if (isTooLong) tally.refusedLength = Math.min(tally.refusedLength, query.window.to - query.window.from);
    return { kind: 'poison', cause: error };
  }
};

const canBeHalved = (list: ListConfig, { window }: Pick<Open, 'window'>): boolean =>
  halveWindow(window, boundStep(list)) !== undefined;

/** The list may show only a part of a window that cannot be cut. */
const doubtWholeStep = async (context: ReadContext, query: WindowQuery, part: ReadPart): Promise<ReadPart> => {
  if (context.confirm === 'later' || part.shown === 'none') return part;
  const { list } = context.client;
  if (canBeHalved(list, query)) return part;
  if (lengthAsked(list, query.window) <= (await findLength(context, query, part.pass))) return part;
  const detail = `gave ${part.ids.size} calls and cannot be split, and the list shows only a part of longer windows, so perhaps also of this one.`;
  reportProblem(context, query.window, 'looks_truncated', detail);
  return notShown(part.pass, 'the list may show only a part of the window', part.ids);
};

/** One answer with fewer records than its total says is a reason to cut only where a cap is. */
const explainShortAnswer = async (context: ReadContext, query: ListQuery & Open, part: CutPart): Promise<Outcome> => {
  const { pass } = part;
  const { rows, largestTotal } = pass;
  const { pageSize = Number.POSITIVE_INFINITY } = context.client;
  const isShort = rows < pageSize && largestTotal !== undefined && rows < largestTotal;
  if (part.why === 'too_large' || !isShort || (await holdsMore(context, query, pass))) return part;
  const detail = `gave ${rows} records where its total says ${largestTotal}, and no more when it is split.`;
  reportProblem(context, query.window, 'looks_truncated', detail);
  return notShown(pass, 'the list returns fewer records than its total');
};

/** Pieces that should each fit, if the total is known; otherwise halves. */
const piecesFor = (part: Exclude<Outcome, ReadPart>, client: ListClient): number => {
  if (part.kind === 'cut' && part.pieces !== undefined) return Math.min(64, part.pieces);
  const cap = capOf(client);
  const total = part.kind === 'cut' && part.why === 'too_large' ? part.pass.lastTotal : undefined;
  if (total === undefined || !Number.isFinite(cap)) return 2;
  return Math.min(64, Math.max(2, Math.ceil(total / (cap * 0.75))));
};

const reportUnproven = (context: ReadContext, window: Window, { pass, ids }: ReadPart): void => {
  const { list } = context.client;
  if (list.pagination === undefined) {
    const detail = `was read from one response (${ids.size} calls), and the paging of the list is unknown; run \`callsync probe\`, or set source.list.pagination.`;
    reportProblem(context, window, 'paging_unknown', detail);
  }
  const { count, furthest } = pass.outOfBounds;
  if (count === 0) return;
  const seconds = Math.ceil(furthest / 1e6);
  const detail = `gave ${count} of ${pass.ids.size} records with times up to ${seconds} s outside the requested bounds; callsync kept them. Check record_field and time zone of source.list.cursor_fields, or raise source.list.bounds_slack_ms.`;
  reportProblem(context, window, 'outside', detail);
};

/** The weakest first. */
const strength: readonly Shown[] = ['none', 'page_overlap', 'second_listing', 'one_response', 'total'];

// Finds out whether a service gives fewer records than a query holds without saying so.

/** Fewer records are compared with nothing. */
const fewest = 3;
/**
 * Services rarely cap an answer lower, so callsync checks a suspected lower cap twice. But where nothing leads to a second page, the first one is
 * the cap.
 */
const smallestCap = ({ pagination }: ListConfig): number => (pagination?.style === 'none' ? 2 : 10);
const fewestOf = (list: ListConfig): number => Math.min(fewest, smallestCap(list));

/**
 * Evidence of a read window about a cap. `none`: below its count. `found`: now in `learned.cap`. `changed`: calls
 * came since. `unclear`: no comparison is possible.
 */
type CapFinding = 'none' | 'found' | 'changed' | 'unclear';

/**
 * A capped query never passes a certain count. Only a window with as many records as the largest query is therefore
 * suspected. The halves of such a window must name no further calls. A total above its count is evidence too. A list may also
 * cut long windows: see findLength.
 * @param pass the reading of `query.window`.
 * @throws CallsyncError of a finally failed request, or the signal's reason.
 */
const lookForCap = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<CapFinding> => {
  const { list, learned } = context.client;
  const { rows, lastTotal } = pass;
  const isRefusedEnd = endsInDoubt(context, pass);
  // Omitted records also count for a cap, so queries end at different counts.
  const isDoubtful =
    isRefusedEnd ||
    endsFull(context.client, pass) ||
    (lastTotal === undefined && hasGaps(learned) && rows >= fewestOf(list));
  // Behind full pages only, a cap may have come while the list was read.
  const isRound = learned.page >= smallestCap(list) && rows > 0 && rows % learned.page === 0;
  // An answer without pages may also end where it holds so many bytes. The record that no longer fits may be long.
  const hasManyBytes = list.pagination?.style === 'none' && pass.bytes * (1 + 4 / rows) >= learned.bytes;
  const isCapLike = (): boolean =>
    rows >= fewestOf(list) &&
    (rows >= learned.records || hasManyBytes) &&
    (lastTotal === undefined || rows >= learned.total);
  const isSuspect = (): boolean => isDoubtful || isRound || isCapLike();
  if (!isCuttable(axisOf(list, query.window.axis)))
    return !isRefusedEnd && isTakenOnTrust(list, rows) ? 'none' : 'unclear';
  if (lastTotal !== undefined && isSuspect()) await askForTotal(context, query);
  const isCompared = isSuspect();
  const finding = isCompared ? await compareWithHalves(context, query, pass) : 'none';
  // Some readings do not count: if calls left during paging, the reading may have passed the cap.
  if (finding === 'none' && isCompared) {
    learned.records = Math.max(learned.records, rows);
    learned.bytes = Math.max(learned.bytes, pass.bytes);
  }
  if (finding === 'found' && !isDoubtful && (isRound || isCapLike()))
    learned.cap = Math.min(learned.cap ?? Number.POSITIVE_INFINITY, rows);
  return finding;
};

/** True if the list ends only in refusals, after a page as full as any other. */
const endsInDoubt = ({ client }: ReadContext, { refusedBehind = 0 }: Pass): boolean =>
  refusedBehind >= Math.max(2, client.learned.page);

/**
 * A list that cannot be cut allows no comparison, and its total may be capped like its rows. The configuration must
 * therefore state the limit of such a list. Unconfigured paging is a problem anyway.
 */
const isTakenOnTrust = (list: ListConfig, rows: number): boolean =>
  rows < fewestOf(list) || list.max_results !== undefined || list.pagination === undefined;

/**
 * Whether a list with fewer rows than its total holds more of them. If its halves name no more, the total is wrong.
 * @param pass the reading of `query.window`.
 * @throws CallsyncError of a finally failed request, or the signal's reason.
 */
const holdsMore = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<boolean> => {
  const { list, learned } = context.client;
  if (!isCuttable(axisOf(list, query.window.axis))) return false;
  const finding = pass.rows >= fewestOf(list) ? await compareWithHalves(context, query, pass) : 'none';
  // Short at one count twice: a cap, also where totals are late and happen to say as much.
  if (finding === 'found' && learned.short === pass.rows) learned.cap = pass.rows;
  if (finding === 'found') learned.short = pass.rows;
  return finding !== 'none';
};

/** A cap counts rows, also repeated ones. */
const compareWithHalves = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<CapFinding> => {
  const step = boundStep(context.client.list);
  const halves = cutAmidCalls(query.window, pass, step);
  const further = new Set<string>();
  const suspects: { readonly window: Window; readonly listing: Pass }[] = [];
  for (const window of halves ?? cutAroundCalls(query.window, pass, step)) {
    const listing = await passOver(context, summaryOf(query, window), { quiet: true });
    for (const id of listing.ids.keys()) if (isCall(id) && !pass.ids.has(id)) further.add(id);
    // If one half has all calls, or its end is in doubt, that half is as suspect as the whole.
    const holdsAll = listing.rows >= Math.max(pass.rows, fewestOf(context.client.list));
    if (holdsAll || endsInDoubt(context, listing) || endsFull(context.client, listing))
      suspects.push({ window, listing });
  }
  if (further.size === 0) {
    for (const { window, listing } of suspects) {
      const inside = await compareWithHalves(context, { ...query, window }, listing);
      if (inside !== 'none') return inside;
    }
    return halves === undefined ? await compareWithDays(context, query, pass) : 'none';
  }
  // A replica that is late and answers in turn looks like a cap once, and a low cap costs many requests.
  for (let looks = pass.rows < smallestCap(context.client.list) ? 2 : 1; looks > 0; looks--) {
    const again = await passOver(context, summaryOf(query, query.window), { quiet: true });
    if (again.rows >= pass.rows + further.size) return 'changed';
  }
  return 'found';
};

/** Whether two days around calls of one step hold more of them. If the list ends in refusals alone, the number of calls is unknown. */
const compareWithDays = async (context: ReadContext, query: WindowQuery, pass: Pass): Promise<CapFinding> => {
  if (endsInDoubt(context, pass)) return 'unclear';
  const wider = { ...query.window, from: query.window.from - day, to: query.window.to + day };
  const around = await passOver(context, summaryOf(query, wider), {
    quiet: true,
    until: ({ size }) => size > pass.rows,
  });
  return around.rows > pass.rows ? 'none' : 'unclear';
};

/** The window before and after calls of one step; nothing where their times do not say where they are. */
const cutAroundCalls = (window: Window, { span, outOfBounds }: Pass, step: Micros): readonly Window[] => {
  if (span.first > span.last || outOfBounds.count > 0) return [];
  const from = Math.floor(span.first / step) * step;
  return [
    { ...window, to: from },
    { ...window, from: from + step },
  ].filter((one) => one.from < one.to);
};

/** Cuts a window in the middle of its calls; undefined where all are within one step. */
const cutAmidCalls = (window: Window, { span, outOfBounds }: Pass, step: Micros): readonly Window[] | undefined => {
  // Times in records may be outside the window, such as those of another zone: then they do not say where the calls are.
  if (span.first > span.last || outOfBounds.count > 0) return halveWindow(window, step);
  const mean = (span.first + span.last) / 2 / step;
  const middle = (Math.ceil(mean) * step > span.last ? Math.floor(mean) : Math.ceil(mean)) * step;
  if (middle <= span.first || middle > span.last) return undefined;
  return [
    { ...window, to: middle },
    { ...window, from: middle },
  ];
};

const summaryOf = (query: ListQuery, window: Window): ListQuery => ({ ...query, window, summary: true });

/** The total of all times: where it is larger than a count, totals are not capped at that count. */
const askForTotal = async ({ client, tally }: ReadContext, { window, signal }: WindowQuery): Promise<void> => {
  tally.requests++;
  const always = { axis: window.axis, from: Date.UTC(2000, 0, 1) * 1000, to: nowMicros() + day };
  // Some services refuse a window that long; the halves then decide.
  await client.readTotal({ window: always, signal, retries: 1 });
};
