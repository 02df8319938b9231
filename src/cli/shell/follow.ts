/** Follows a workflow from outside: until it ends, the person stops looking, or no worker is there to do it. */

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isGrpcServiceError, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { CancelledFailure, type QueryDefinition } from '@temporalio/common';
import { type BackfillProgress, progressQuery } from '../../../workflows/messages.ts';
import { lastFailure, type QueueRole, rootMessage, unpolledQueues } from '../../app/temporal.ts';
import { terminal, transient } from '../../lib/errors.ts';
import { say } from '../../lib/say.ts';
import { createBackfillView } from './progress.ts';

interface FollowOptions<Progress> {
  /** In sentences, such as “backfill”. */
  readonly what: string;
  /** The query for progress, asked at intervals, and how it is shown. A failed question does not fail the workflow. */
  readonly look?: { readonly query: QueryDefinition<Progress>; show(progress: Progress, failure: string | null): void };
  readonly roles?: readonly QueueRole[];
  /** Ends the following, not the workflow. */
  readonly signal?: AbortSignal;
}

const everyMs = 500;

type Followed<Result> = { readonly ended: true; readonly result: Result } | { readonly ended: false };

/**
 * The result, or that `signal` came first: then at once, whether or not a worker answers.
 * @throws CallsyncError NO_WORKER, WORKFLOW_CANCELLED, WORKFLOW_FAILED, TEMPORAL_UNREACHABLE
 */
export const followWorkflow = async <Result, Progress = never>(
  handle: WorkflowHandle,
  options: FollowOptions<Progress>,
): Promise<Followed<Result>> => {
  const over = new AbortController();
  const { what, signal = over.signal } = options;
  const result = handle.result().then((value): Followed<Result> => ({ ended: true, result: value as Result }));
  const left = Promise.resolve(signal.aborted || once(signal, 'abort')).then(
    (): Followed<Result> => ({ ended: false }),
  );
  void keepLooking(handle, options, over.signal);
  try {
    return await Promise.race([result, left, workersLost(handle, over.signal, options.roles)]);
  } catch (error) {
    throw explain(what, error);
  } finally {
    over.abort();
  }
};

const keepLooking = async <Progress>(handle: WorkflowHandle, { look }: FollowOptions<Progress>, over: AbortSignal) => {
  if (look === undefined) return;
  while (!over.aborted) {
    const progress = await handle.query(look.query).catch(() => undefined);
    const failure = await lastFailure(handle).catch(() => null);
    if (progress !== undefined && !over.aborted) look.show(progress, failure);
    await delay(everyMs, undefined, { signal: over }).catch(() => undefined);
  }
};

const explain = (what: string, error: unknown): unknown => {
  if (isGrpcServiceError(error))
    return transient(
      'TEMPORAL_UNREACHABLE',
      `The Temporal server stopped answering; the ${what} continues in its workers.`,
      { hint: 'Run callsync doctor, then the same command again.', cause: error },
    );
  if (!(error instanceof WorkflowFailedError)) return error;
  if (error.cause instanceof CancelledFailure)
    return terminal('WORKFLOW_CANCELLED', `The ${what} was cancelled.`, { cause: error });
  return terminal('WORKFLOW_FAILED', `The ${what} ended with an error: ${rootMessage(error)}.`.replace(/\.\.$/, '.'), {
    cause: error,
  });
};

const graceMs = 15_000;
const lookMs = 2_000;

/**
 * Watches for workers that can run a workflow, and reports once if there is none. Rejects with NO_WORKER once task queues
 * have been without a worker for a quarter of a minute, or at the signal; never resolves.
 */
const workersLost = async (handle: WorkflowHandle, signal: AbortSignal, roles?: readonly QueueRole[]) => {
  const prefix = (await handle.describe()).taskQueue;
  let since: number | undefined;
  for (;;) {
    // When the server does not answer, the command that waits for the result reports it.
    const missing = await unpolledQueues(handle.client, prefix, roles).catch(() => []);
    const where = `task queue${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`;
    if (missing.length === 0) since = undefined;
    else if (since === undefined) {
      since = Date.now();
      say(`No worker answers on ${where} yet; waiting ${graceMs / 1000} s for one …`);
    } else if (Date.now() - since >= graceMs) throw transient('NO_WORKER', `No worker answers on ${where}.`);
    await delay(lookMs, undefined, { signal });
  }
};

/** The outcome of `work`, which a worker must do. @throws transient NO_WORKER */
export const needWorkers = async <T>(handle: WorkflowHandle, work: Promise<T>): Promise<T> => {
  const over = new AbortController();
  return await Promise.race([work, workersLost(handle, over.signal, ['workflows'])]).finally(() => over.abort());
};

/**
 * Shows a backfill until it ends or until `signal`, and returns the last state that was read. The backfill continues.
 * @throws CallsyncError NO_WORKER, WORKFLOW_FAILED, WORKFLOW_CANCELLED, TEMPORAL_UNREACHABLE; transient
 * BACKFILL_UNANSWERED when `signal` came before any worker told its progress.
 */
export const watchBackfill = async (handle: WorkflowHandle, title: string, signal?: AbortSignal) => {
  const view = createBackfillView(title);
  let last: BackfillProgress | undefined;
  const show = (progress: BackfillProgress, failure: string | null = null): void => {
    last = progress;
    view.update({ ...progress, failure });
  };
  try {
    const followed = await followWorkflow<BackfillProgress, BackfillProgress>(handle, {
      what: 'backfill',
      look: { query: progressQuery, show },
      signal,
    });
    if (followed.ended) show(followed.result);
  } finally {
    view.stop();
  }
  if (last !== undefined) return last;
  throw transient(
    'BACKFILL_UNANSWERED',
    `No worker reports the progress of ${title}. The backfill waits for a worker.`,
    { hint: 'Start one with callsync worker or callsync up, then look again with callsync backfill watch.' },
  );
};
