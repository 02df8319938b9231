/** Judges one part of a window: read to its end, or cut into smaller ones. */
import { countOf } from '../../lib/count-of.ts';
import type { CallsyncError } from '../../lib/errors.ts';
import { isPoison, isRefusal } from '../http/errors.ts';
import { capOf } from '../list/facts.ts';
import type { Window, WindowQuery } from '../list/list-query.ts';
import { axisOf, boundStep, halveWindow, isCuttable, splitWindow } from '../list/list-query.ts';
import { askList, type Judge, unless, type View } from './ask.ts';
import { endsInDoubt, judgeCap, judgeShort } from './cap.ts';
import { judgeComplete } from './complete.ts';
import { nothing } from './evidence.ts';
import { judgeInstant } from './instant.ts';
import { judgeLength, lengthAsked, shortest } from './length.ts';
import { judgePoison, judgeService } from './poison.ts';
import { type Cut, cut, type Done, notShown, type Problem, truncated } from './verdict.ts';

/** Part of the window still to be read. */
export interface Open {
  readonly window: Window;
  /** Set once larger questions failed: then failures are expected, and not waited for. */
  readonly retries?: number | undefined;
  /** Times that calls came while it was compared with its halves; `maxChanges` in a part whose passes disagreed. */
  readonly changes?: number | undefined;
}

type OpenQuery = WindowQuery & Open;

/** The end of a part, or the parts to read instead; with the failure of the part as a whole. */
export type Verdict = (Done | { readonly kind: 'parts'; readonly parts: readonly Open[] }) & {
  readonly failure?: CallsyncError | undefined;
};

const maxChanges = 3;
/** From this many failing parts of a window on, the cause is not a single record: isolating one takes about 30. */
const maxFailures = 200;
/** The same of parts that were not answered in time: each takes minutes, and the work around this ends in a quarter of an hour. */
const maxTimeouts = 4;
/** After this many failures, callsync checks again whether the service is up. */
const askEvery = 10;

/**
 * Cuts a part that is too large for one query, fails as a whole, or is longer than the list is known to show.
 * @throws CallsyncError if the service is away or refuses the query.
 */
export function* judgePart(view: View, query: OpenQuery): Judge<Verdict> {
  const { window, changes = 0 } = query;
  let failure: CallsyncError | undefined;
  let part: Done | Cut;
  try {
    part = yield* judgeOpen(view, query);
  } catch (error) {
    failure = yield* judgeFailure(view, query, error);
    part = cut('poison', nothing);
  }
  const retries = failure === undefined ? query.retries : retriesAfter(failure);
  const split = (pieces: number): Verdict & { readonly kind: 'parts' } => {
    const windows = canBeCut(view, query) ? splitWindow(window, pieces, boundStep(view.list)) : [];
    const changed = part.kind === 'cut' && part.why === 'disagrees' ? maxChanges : query.changes;
    return { kind: 'parts', parts: windows.map((piece) => ({ window: piece, retries, changes: changed })), failure };
  };
  if (part.kind === 'cut') {
    if (part.why === 'changed') return { kind: 'parts', parts: [{ window, retries, changes: changes + 1 }] };
    const verdict = split(piecesFor(part, view));
    if (verdict.parts.length > 1) return verdict;
    part = yield* failure ? judgeApart(view, query, failure) : judgeInstant(view, query, part);
  }
  const read = yield* judgeWhole(view, query, part);
  if (typeof read === 'number') return split(read);
  return { ...read, problems: [...read.problems, ...unproven(view, read)], failure };
}

/** Reads a part once, as far as it goes, and proves nothing. */
export function* judgeHastily(_: View, query: OpenQuery): Judge<Verdict> {
  const mayFail = (error: CallsyncError): boolean => isPoison(error) || isRefusal(error);
  const pass = (yield* unless(mayFail, askList(query, { upToCap: true }))) ?? nothing;
  const reason = 'the list disagrees with itself again and again';
  const detail = `was read once, because ${reason}; ${pass.ids.size} calls were read.`;
  return notShown(reason, pass, { problems: [{ problem: 'disagrees', detail }] });
}

const canBeCut = ({ list }: View, { window }: OpenQuery): boolean =>
  isCuttable(axisOf(list, window.axis)) && halveWindow(window, boundStep(list)) !== undefined;

/** If larger requests fail, callsync sends few smaller requests, because a time-out costs minutes. */
const retriesAfter = (failure: CallsyncError): number => (isTimeout(failure) ? 0 : 1);

const isTimeout = ({ code }: CallsyncError): boolean => code === 'SERVICE_TIMEOUT';

/** More pieces are cut again. */
const mostPieces = 64;

/** Pieces that should each fit, if the total is known; otherwise halves, as where it may be that of any window. */
const piecesFor = ({ why, pass: { lastTotal: total = 0 } }: Cut, { list, learned }: View): number => {
  const fitting = why === 'too_large' && total < learned.total ? total / (capOf(list, learned) * 0.75) : 0;
  return Math.min(mostPieces, Math.max(2, Math.ceil(fitting)));
};

function* judgeOpen(view: View, query: OpenQuery): Judge<Done | Cut> {
  const part = yield* judgeComplete(view, query);
  return yield* part.kind === 'cut' ? explainShortAnswer(view, query, part) : judgeCount(view, query, part);
}

/** Reads a part that fails as a whole row by row. */
function* judgeApart(view: View, query: OpenQuery, failure: CallsyncError): Judge<Done> {
  const part = yield* judgePoison(view, query, failure);
  const judged = part.shown === 'none' ? part : yield* unless(isPoison, judgeCount(view, query, part));
  if (judged?.kind === 'done') return judged;
  const detail = `gave ${countOf(part.ids.size, 'call')} row by row, and may hold more.`;
  return truncated('the service may have more calls than it returns', detail, part.pass);
}

/** If the count of a part may be the cap of the service, compares it with its halves. */
function* judgeCount(view: View, query: OpenQuery, part: Done): Judge<Done | Cut> {
  if (view.confirm === 'later') return part;
  const { pass } = part;
  switch (yield* judgeCap(view, query, pass, query.changes === maxChanges)) {
    case 'none':
      return part;
    case 'found':
      return { ...part, kind: 'cut', why: 'looks_truncated' };
    case 'changed':
      return { ...part, kind: 'cut', why: (query.changes ?? 0) < maxChanges ? 'changed' : 'disagrees' };
    case 'unclear': {
      const detail = endsInDoubt(view, pass)
        ? `gave ${countOf(pass.ids.size, 'call')}, ends with a page that the service refuses, and cannot be split for comparison. Set source.list.total_path or source.list.pagination.size_param.`
        : `gave ${countOf(pass.ids.size, 'call')}, as many as any query, and cannot be split for comparison. Set source.list.max_results to the cap of the service, or correct from_param and to_param of source.list.cursor_fields.`;
      return truncated('the service may have more calls than it returns', detail, pass);
    }
  }
}

/** One answer with fewer records than its total says is a reason to cut only where a cap is. */
function* explainShortAnswer(view: View, query: OpenQuery, part: Cut): Judge<Done | Cut> {
  const { rows, largestTotal } = part.pass;
  const isShort = rows < (view.pageSize ?? Number.POSITIVE_INFINITY) && rows < largestTotal;
  if (part.why === 'too_large' || !isShort || (yield* judgeShort(view, query, part.pass))) return part;
  const detail = `gave ${countOf(rows, 'record')} where its total says ${largestTotal}, and no more when it is split.`;
  return truncated('the list returns fewer records than its total', detail, part.pass);
}

/**
 * Compares the length of a part with the length that the list shows.
 * @returns the pieces into which it must be cut; where it cannot be cut, the list may show only a part of it.
 */
function* judgeWhole(view: View, query: OpenQuery, part: Done): Judge<Done | number> {
  const canCut = canBeCut(view, query);
  if (view.confirm === 'later' || part.problems.length > 0 || (part.shown === 'none' && !canCut)) return part;
  const length = lengthAsked(view.list, query.window);
  const shown = Math.max(yield* judgeLength(view, query, part.pass), canCut ? shortest(view.list) : 0);
  if (length <= shown) return part;
  if (canCut) return Math.min(mostPieces, Math.floor(length / shown) + 1);
  const detail = `gave ${countOf(part.ids.size, 'call')} and cannot be split, and the list shows only a part of longer windows, so perhaps also of this one.`;
  return truncated('the list may show only a part of the window', detail, part.pass, { ids: part.ids });
}

/**
 * Many lists refuse a long range; a list that refuses every question is noticed here.
 * @throws the failure, if it is not due to the question.
 */
function* judgeFailure(view: View, query: OpenQuery, cause: unknown): Judge<CallsyncError> {
  const { failures: before } = view;
  const isTooLong = isRefusal(cause) && canBeCut(view, query);
  if (!isPoison(cause) && !isTooLong) throw cause;
  const isTooMuch = isTimeout(cause) && before.filter(isTimeout).length >= maxTimeouts;
  if (before.length >= maxFailures || isTooMuch) throw cause;
  const isAsked = isCuttable(axisOf(view.list, query.window.axis)) && before.length % askEvery === 0;
  if (isAsked && !(yield* judgeService(view.list, query, cause))) throw cause;
  return cause;
}

const unproven = ({ list }: View, { pass, ids }: Done): readonly Problem[] => {
  const { outOfBounds: count, furthest } = pass;
  const unknown = `was read from one response (${countOf(ids.size, 'call')}), and the paging of the list is unknown; run \`callsync probe\`, or set source.list.pagination.`;
  const outside = `gave ${count} of ${pass.ids.size} records with times up to ${Math.ceil(furthest / 1e6)} s outside the requested bounds; callsync kept them. Check record_field and time zone of source.list.cursor_fields, or raise source.list.bounds_slack_ms.`;
  const undated = `gave ${countOf(pass.undated, 'call')}, all without a readable time, so callsync could not tell which of them are deleted later. Check record_field of source.list.cursor_fields.`;
  const problems: Problem[] = [];
  if (pass.undated > 0 && pass.first.callId === '') problems.push({ problem: 'undated', detail: undated });
  if (list.pagination === undefined) problems.push({ problem: 'paging_unknown', detail: unknown });
  if (count > 0) problems.push({ problem: 'outside', detail: outside });
  return problems;
};
