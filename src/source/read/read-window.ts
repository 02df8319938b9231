/** Reads a window of the call list completely: each call of it exactly as often as needed, none left out in silence. */
import type { Shown } from '../../../schemas/observation.ts';
import type { CallsyncError } from '../../lib/errors.ts';
import type { Micros } from '../../lib/timestamps.ts';
import { isPoison, type ListClient } from '../list/list-client.ts';
import { axisOf, boundStep, isCuttable, type ListQuery, splitWindow, type Window } from '../list/list-query.ts';
import { isolatePoison, isServiceUp } from './isolate-poison.ts';
import { endsInDoubt, holdsMore, lookForCap } from './look-for-cap.ts';
import { createTally, type Handlers, type ReadContext, reportProblem, type WindowProblem } from './read-context.ts';
import { readInstant } from './read-instant.ts';
import { type CutPart, notShown, type ReadPart, readPart } from './read-part.ts';
import { capOf } from './read-pass.ts';

interface ReadProgress {
  /** Everything of the window before this time is read. */
  readonly doneTo: Micros;
  readonly calls: number;
  readonly pages: number;
}

export interface ReadWindowOptions extends Handlers {
  readonly client: ListClient;
  readonly window: Window;
  /** `now` (default) proves completeness before this returns. `later` leaves the second listing to reconcile. */
  readonly confirm?: 'now' | 'later';
  /** Read without the heavy fields. */
  readonly summary?: boolean;
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** JSON bytes parsed and handed on at once; 8 MiB by default. */
  readonly partBytes?: number;
}

/** A contiguous part of the window that was read in one piece. */
interface WindowPart {
  readonly from: Micros;
  readonly to: Micros;
  /** Distinct calls inside the part. */
  readonly calls: number;
  readonly shown: Shown;
  /** Reason of a missing proof, in one sentence without personal data; only with `none`. */
  readonly reason?: string;
}

export interface WindowResult {
  /** Distinct calls inside the window. */
  readonly calls: number;
  readonly pages: number;
  /** Pages and single calls asked for, repeated attempts not counted. */
  readonly requests: number;
  /** Decoded bytes read. */
  readonly bytes: number;
  readonly splits: number;
  /** The weakest of all its parts. */
  readonly shown: Shown;
  /** In order of time; together they are the window. */
  readonly parts: readonly WindowPart[];
  /** Windows that could not be read or proven complete. Every such window is here. */
  readonly problems: readonly WindowProblem[];
  readonly rejected: number;
  readonly undated: number;
  /** Rows by which the list named and counted a call once more. */
  readonly repeated: number;
  readonly uncarried: Readonly<Record<string, number>>;
}

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
/** After this many failures the service is asked again whether it is up. */
const askEvery = 10;

/**
 * Reads `[from, to)`, in microseconds on one axis of the list. Passes on all records, inside or outside the window,
 * in any order and possibly more than once (interface §4.2).
 * Cuts a part that is too large for one query, or fails as a whole. Unreadable and unproven parts are in `problems`
 * and have `shown: none`.
 * @throws CallsyncError if the service is away or refuses the query (after source.limits.retries); earlier records
 * stay valid. The signal's reason when aborted.
 */
export const readWindow = async (options: ReadWindowOptions): Promise<WindowResult> => {
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
  let splits = 0;

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
        splits += pieces.length - 1;
        const retries = retriesFor(part) ?? open.retries;
        queue.unshift(...pieces.map((piece) => ({ window: piece, ...(retries === undefined ? {} : { retries }) })));
        onProgress?.({ doneTo: open.window.from, calls, pages: tally.pages });
        continue;
      }
      part =
        part.kind === 'poison'
          ? await isolatePoison(context, query, part.cause)
          : await readInstant(context, query, part);
    }
    reportUnproven(context, open.window, part);
    const { from, to } = open.window;
    const { ids, shown, reason } = part;
    calls += ids.size;
    parts.push({ from, to, calls: ids.size, shown, ...(reason === undefined ? {} : { reason }) });
    onProgress?.({ doneTo: to, calls, pages: tally.pages });
  }
  return {
    calls,
    pages: tally.pages,
    requests: tally.requests,
    bytes: tally.bytes,
    splits,
    shown: weakest(parts),
    parts,
    problems,
    rejected: tally.rejected,
    undated: tally.undated,
    repeated: tally.repeated,
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

/** Once larger questions fail, smaller ones are not asked often; one that is not answered in time costs minutes. */
const retriesFor = (part: Exclude<Outcome, ReadPart>): number | undefined =>
  part.kind !== 'poison' ? undefined : part.cause.code === 'SERVICE_TIMEOUT' ? 0 : 1;

/** One part: read, and compared with its halves where its count may be the service's cap. */
const readOpen = async (context: ReadContext, query: ListQuery & Open): Promise<Outcome> => {
  try {
    const part = await readPart(context, query);
    if (part.kind === 'cut') return await explainShortAnswer(context, query, part);
    if (context.confirm === 'later') return part;
    switch (await lookForCap(context, query, part.pass)) {
      case 'none':
        return part;
      case 'found':
        return { kind: 'cut', why: 'looks_truncated', pass: part.pass, ids: part.ids };
      case 'changed':
        if ((query.changes ?? 0) < maxChanges) return { kind: 'changed' };
        return { kind: 'cut', why: 'disagrees', pass: part.pass, ids: part.ids };
      case 'unclear':
        reportProblem(
          context,
          query.window,
          'looks_truncated',
          endsInDoubt(context, part.pass)
            ? `gave ${part.pass.ids.size} calls, ends with a page that the service refuses, and cannot be cut to compare; state source.list.total_path or source.list.pagination.size_param.`
            : `gave ${part.pass.ids.size} calls, as many as any query, and cannot be cut to compare; state source.list.max_results, the most that the service gives.`,
        );
        return notShown(part.pass, 'the service may hold more calls than it gives');
    }
  } catch (error) {
    if (!isPoison(error)) throw error;
    const { client, tally } = context;
    const cuttable = isCuttable(axisOf(client.list, query.window.axis));
    tally.failures++;
    if (error.code === 'SERVICE_TIMEOUT') tally.timeouts++;
    if (tally.failures > maxFailures || tally.timeouts > maxTimeouts) throw error;
    const isAsked = cuttable && tally.failures % askEvery === 1;
    if (isAsked && !(await isServiceUp(client, query.window, { cause: error, signal: query.signal }))) throw error;
    return { kind: 'poison', cause: error };
  }
};

/** One answer with fewer records than its total says is a reason to cut only where a cap is. */
const explainShortAnswer = async (context: ReadContext, query: ListQuery & Open, part: CutPart): Promise<Outcome> => {
  const { pass } = part;
  const { rows, largestTotal } = pass;
  const { pageSize = Number.POSITIVE_INFINITY } = context.client;
  const isShort = rows < pageSize && largestTotal !== undefined && rows < largestTotal;
  if (part.why === 'too_large' || !isShort || (await holdsMore(context, query, pass))) return part;
  reportProblem(
    context,
    query.window,
    'looks_truncated',
    `gave ${rows} records where its total says ${largestTotal}, and no more when it is cut.`,
  );
  return notShown(pass, 'the list gives fewer records than its total says');
};

/** As many pieces as should each fit, where the total is known; halves otherwise. */
const piecesFor = (part: Exclude<Outcome, ReadPart>, client: ListClient): number => {
  const cap = capOf(client);
  const total = part.kind === 'cut' && part.why === 'too_large' ? part.pass.lastTotal : undefined;
  if (total === undefined || !Number.isFinite(cap)) return 2;
  return Math.min(64, Math.max(2, Math.ceil(total / (cap * 0.75))));
};

const reportUnproven = (context: ReadContext, window: Window, { pass, ids }: ReadPart): void => {
  const { list } = context.client;
  if (list.pagination === undefined) {
    reportProblem(
      context,
      window,
      'paging_unknown',
      `was read from one response (${ids.size} calls), and nobody said how the list is paged: run \`callsync probe\`, or set source.list.pagination.`,
    );
  }
  const { count, furthest } = pass.outOfBounds;
  if (count === 0) return;
  const seconds = Math.ceil(furthest / 1e6);
  reportProblem(
    context,
    window,
    'outside',
    `gave ${count} of ${pass.ids.size} records with times up to ${seconds} s outside the bounds asked for; they were kept. Check record_field and time zone of source.list.cursor_fields, or raise source.list.bounds_slack_ms.`,
  );
};

const strength: readonly Shown[] = ['none', 'page_overlap', 'second_listing', 'one_response', 'total'];

const weakest = (parts: readonly WindowPart[]): Shown =>
  parts.reduce<Shown>(
    (worst, { shown }) => (strength.indexOf(shown) < strength.indexOf(worst) ? shown : worst),
    'total',
  );
