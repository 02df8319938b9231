/** Turns use cases into activities: heartbeats, cancellation, and our errors as Temporal's. */
import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { CallsyncError } from '../src/lib/errors.ts';
import type { LongRun } from '../src/pipeline/deps.ts';

/** Context of a running activity from Temporal. `attempt`: 1 at first. */
export type ActivityRun<P> = LongRun<P> & { readonly attempt: number };

type Deps = { readonly log: (event: string, fields: Record<string, unknown>) => void };
type Work = (run: ActivityRun<never>, ...input: never[]) => Promise<unknown>;
type Activity<W> = W extends (run: never, ...input: infer I) => infer O ? (...input: I) => O : never;

/** A third of the shortest heartbeat time-out, because the SDK throttles heartbeats to 80 % of it. */
const beatMs = 5_000;

/**
 * Heartbeats while the work goes on, with the last progress, so that a retry resumes there. Errors are logged with
 * their causes and leave as Temporal's; messages carry no personal data, and causes stay behind.
 */
export const activity =
  <I extends unknown[], O, P = never>(
    deps: Deps,
    name: string,
    work: (run: ActivityRun<P>, ...input: I) => Promise<O>,
  ) =>
  async (...input: I): Promise<O> => {
    const context = Context.current();
    const { attempt, heartbeatDetails } = context.info;
    const resume = heartbeatDetails as P | undefined;
    let last = resume;
    const beat = setInterval(() => context.heartbeat(last), beatMs);
    const onProgress = (progress: P): void => {
      last = progress;
      context.heartbeat(progress);
    };
    try {
      return await work({ signal: context.cancellationSignal, attempt, resume, onProgress }, ...input);
    } catch (error) {
      const failure = toActivityFailure(error);
      // Cancelled work has not failed: an operator, or a worker that stops, asked for it.
      if (!(failure instanceof CancelledFailure)) deps.log('activity failed', { activity: name, error });
      throw failure;
    } finally {
      clearInterval(beat);
    }
  };

/** The one place where our errors become Temporal's. */
const toActivityFailure = (error: unknown): Error => {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (error instanceof Error && error.cause instanceof CancelledFailure) return error.cause;
  if (error instanceof CallsyncError)
    return ApplicationFailure.create({
      type: error.code,
      message: error.hint === undefined ? error.message : `${error.message} ${error.hint}`,
      nonRetryable: error.kind === 'terminal',
      nextRetryDelay: error.retryAfterMs,
    });
  const name = error instanceof Error ? error.name : typeof error;
  return ApplicationFailure.create({
    type: 'UNEXPECTED',
    message: `Unexpected ${name}; the worker's log has the details.`,
  });
};

/** Activities by their names. */
export const createActivities = <W extends Readonly<Record<string, Work>>>(deps: Deps, works: W) =>
  Object.fromEntries(Object.entries(works).map(([name, work]) => [name, activity(deps, name, work)])) as {
    [Name in keyof W]: Activity<W[Name]>;
  };
