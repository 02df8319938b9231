/**
 * Records windows that keep failing while the service works, and skips them, so that they do not delay the others.
 */
import type { Range, ReadTotals } from '../../../schemas/orchestration.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { axisOf, isCuttable } from '../../source/list/list-query.ts';
import { isServiceUp } from '../../source/read/isolate-poison.ts';
import { replaceProblems } from '../../store/windows/windows.ts';
import type { ReadDeps } from '../deps.ts';

/**
 * Failures that may concern one answer. Everything else, such as access, tokens and the store, concerns all windows.
 */
const codes = new Set([
  'LIST_FAILED',
  'LIST_LOOP',
  'LIST_MALFORMED',
  'LIST_REFUSED',
  'LIST_SHAPE',
  'RESPONSE_ENCODING',
  'RESPONSE_TOO_LARGE',
  'SERVICE_REFUSED',
  'SERVICE_TIMEOUT',
  'SERVICE_UNAVAILABLE',
  'SERVICE_UNREACHABLE',
]);
/** So often a window fails in a way that may pass before it is passed over. */
const attempts = 3;

/**
 * Returns the result of `read`, or the totals of a window that was recorded as a problem for a later reading.
 * @param attempt of the whole work, 1 at first.
 * @throws the error of `read` if it may pass, or if the service answers no other request either.
 */
export const passOverFailing = async (
  deps: ReadDeps,
  window: Range & { readonly axis: string },
  { attempt, signal }: { readonly attempt: number; readonly signal: AbortSignal },
  read: () => Promise<ReadTotals>,
): Promise<ReadTotals> => {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CallsyncError) || !codes.has(error.code)) throw error;
    if (error.kind === 'transient' && attempt < attempts) throw error;
    if (!(await isServiceUp(deps.source.list, window, { cause: error, signal }))) throw error;
    const { axis, from, to } = window;
    const { list } = deps.source.list;
    // A list that cannot be cut is read whole for each half.
    const halves = (isCuttable(axisOf(list, axis)) ? halve(window) : [{ from, to }]).map((half) => ({
      axis,
      ...half,
      problem: `unreadable: ${axis} ${new Date(half.from / 1000).toISOString()} to ${new Date(half.to / 1000).toISOString()} fails (${error.code}); it is read again later.`,
    }));
    await replaceProblems(deps.store, window, halves);
    deps.log('window passed over', { axis, from, to, code: error.code });
    return { windows: 0, calls: 0, changed: 0, requests: 1, problems: halves.length };
  }
};

/** In microseconds: longer windows are read again in halves, so that what fails is narrowed from one reading to the next. */
const shortestHalf = 30_000_000;

const halve = ({ from, to }: Range): readonly Range[] => {
  const middle = Math.floor((from + to) / 2 / 1_000_000) * 1_000_000;
  return to - from < 2 * shortestHalf
    ? [{ from, to }]
    : [
        { from, to: middle },
        { from: middle, to },
      ];
};
