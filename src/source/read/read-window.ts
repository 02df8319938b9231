/** Reads a window of the call list completely: each call of it exactly as often as needed, none left out in silence. */
import type { Shown } from '../../../schemas/observation.ts';
import type { CallsyncError } from '../../lib/errors.ts';
import { iso, type Micros, nowMicros } from '../../lib/timestamps.ts';
import { isRefusal } from '../http/errors.ts';
import type { ListClient } from '../list/list-client.ts';
import type { Window, WindowQuery } from '../list/list-query.ts';
import type { Judge, View } from './ask.ts';
import { judgeHastily, judgePart, type Open } from './judge.ts';
import { answer, type Handlers, openReading, type Reading } from './listing.ts';
import { judgeService } from './poison.ts';
import type { Done, Problem } from './verdict.ts';

interface ReadWindowOptions extends Handlers {
  readonly client: ListClient;
  readonly window: Window;
  /** `now` (default) proves completeness before this returns. `later` leaves the second listing to reconcile. */
  readonly confirm?: 'now' | 'later';
  /** Read without the heavy fields. */
  readonly summary?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** After so many requests for a window, and for each of its calls, the list never agrees with itself: the rest is read once. */
const [enough, enoughOfCall] = [500, 20];

/** A contiguous part of the window that was read in one piece. */
interface WindowPart extends Pick<Done, 'shown' | 'reason'> {
  readonly from: Micros;
  readonly to: Micros;
  /** Distinct calls inside the part. */
  readonly calls: number;
}

export type WindowResult = Awaited<ReturnType<typeof readWindow>>;

/** Answers the questions of a judge until it comes to its end. @throws a failure that the judge does not expect. */
const pursue = async <T>(reading: Reading, judge: Judge<T>): Promise<T> => {
  let step = judge.next();
  while (step.done !== true) {
    const resume = await answer(reading, step.value).then(
      (evidence) => () => judge.next(evidence),
      (error: unknown) => () => judge.throw(error),
    );
    step = resume();
  }
  return step.value;
};

/**
 * Reads `[from, to)`, in microseconds on one axis of the list. Passes on all records, inside or outside the window,
 * in any order and possibly more than once (interface §4.2).
 * Cuts a part that is too large for one query, or fails as a whole. Unreadable and unproven parts are in `problems`
 * and have `shown: none`.
 * @throws CallsyncError if the service is away or refuses the query (after source.limits.retries); earlier records
 * stay valid. The signal's reason when aborted.
 */
export const readWindow = async (options: ReadWindowOptions) => {
  const { client, window, summary, signal } = options;
  await client.recall();
  const reading = openReading(client, options);
  const failures: CallsyncError[] = [];
  const view: View = { ...client, confirm: options.confirm ?? 'now', now: nowMicros(), failures };
  let refused = Number.POSITIVE_INFINITY;
  const queue: Open[] = window.from < window.to ? [{ window }] : [];
  const parts: WindowPart[] = [];
  const problems: (Problem & { readonly window: Window })[] = [];
  let repeated = 0;
  for (let open = queue.shift(); open !== undefined; open = queue.shift()) {
    const { requests, named } = reading.tally;
    const judge = requests > enough + enoughOfCall * named.size ? judgeHastily : judgePart;
    const verdict = await pursue(reading, judge(view, { ...open, summary, signal }));
    const { failure } = verdict;
    const { axis, from, to } = open.window;
    if (failure) failures.push(failure);
    if (isRefusal(failure)) refused = Math.min(refused, to - from);
    if (verdict.kind === 'parts') {
      queue.unshift(...verdict.parts);
      continue;
    }
    const { pass, ids, shown, reason } = verdict;
    parts.push({ from, to, calls: ids.size, shown, ...(reason !== undefined && { reason }) });
    for (const { problem, detail } of verdict.problems)
      problems.push({ window: open.window, problem, detail: `${axis} ${iso(from)} ${detail}` });
    if (pass.rows === pass.lastTotal) repeated += pass.rows - pass.ids.size;
  }
  client.learn({ longest: refused / 2 });
  await client.keep();
  const { requests, rejected, conflicting, uncarried } = reading.tally;
  return {
    /** Distinct calls inside the window. */
    calls: parts.reduce((sum, part) => sum + part.calls, 0),
    /** Pages and single calls asked for, repeated attempts not counted. */
    requests,
    /** Evidence of the weakest part. */
    shown: strength.find((shown) => parts.some((part) => part.shown === shown)) ?? 'total',
    /** In order of time; together they are the window. */
    parts,
    /** Windows that could not be read or proven complete. Every such window is here. */
    problems,
    /** Rows by which the list named and counted a call once more. */
    repeated,
    conflicting: conflicting.size,
    /** Records that are no calls. */
    rejected: rejected.size,
    uncarried: Object.fromEntries(uncarried),
  };
};

/** The weakest first. */
const strength: readonly Shown[] = ['none', 'page_overlap', 'second_listing', 'one_response', 'total'];

/**
 * Whether the service answers other questions than the one about a window.
 * @param cause the failure of the window.
 * @throws the signal's reason.
 */
export const isServiceUp = (client: ListClient, query: WindowQuery, cause: CallsyncError): Promise<boolean> =>
  pursue(openReading(client), judgeService(client.list, query, cause));
