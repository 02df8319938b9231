/** Follows a workflow from outside: until it ends, the person stops looking, or no worker is there to do it. */
import { setTimeout as delay } from 'node:timers/promises';
import { isGrpcServiceError, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { terminal, transient } from '../../lib/errors.ts';
import { type QueueRole, watchWorkers } from './watch-workers.ts';

export interface FollowOptions<Progress> {
  /** In sentences, such as “backfill”. */
  readonly what: string;
  /** Asked for progress now and then, and shown what comes. Its failures are not the workflow's. */
  readonly look?: {
    readonly everyMs: number;
    ask(): Promise<Progress>;
    show(progress: Progress): void;
  };
  readonly roles?: readonly QueueRole[];
  /** Ends the following, not the workflow. */
  readonly signal?: AbortSignal;
  readonly say: (message: string) => void;
}

/** A worker that is there answers within a second or two. */
const silentMs = 30_000;

export type Followed<Result> = { readonly ended: true; readonly result: Result } | { readonly ended: false };

/**
 * The result, or that `signal` came first: then at once, whether or not a worker answers.
 * @throws CallsyncError NO_WORKER, WORKFLOW_CANCELLED, WORKFLOW_FAILED, TEMPORAL_UNREACHABLE
 */
export const followWorkflow = async <Result, Progress = never>(
  handle: WorkflowHandle,
  options: FollowOptions<Progress>,
): Promise<Followed<Result>> => {
  const { signal, what } = options;
  const over = new AbortController();
  const result = handle.result().then((value): Followed<Result> => ({ ended: true, result: value as Result }));
  const left = new Promise<Followed<Result>>((resolve) => {
    const leave = (): void => resolve({ ended: false });
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave, { once: true });
  });
  const workers = watchWorkers(handle, options.say, options.roles);
  void keepLooking(options, over.signal);
  try {
    return await Promise.race([result, left, workers.lost]);
  } catch (error) {
    throw explain(what, error);
  } finally {
    over.abort();
    workers.stop();
    result.catch(() => undefined);
  }
};

const keepLooking = async <Progress>(
  { look, what, say }: FollowOptions<Progress>,
  over: AbortSignal,
): Promise<void> => {
  if (look === undefined) return;
  let answered = Date.now();
  const remind = setInterval(() => {
    const seconds = Math.round((Date.now() - answered) / 1000);
    if (seconds * 1000 < silentMs) return;
    say(`The ${what} has told no progress for ${seconds} s; the worker's log or Temporal's interface may say why.`);
  }, silentMs);
  over.addEventListener('abort', () => clearInterval(remind), { once: true });
  while (!over.aborted) {
    const progress = await look.ask().catch(() => undefined);
    if (progress !== undefined) answered = Date.now();
    if (progress !== undefined && !over.aborted) look.show(progress);
    await delay(look.everyMs, undefined, { signal: over }).catch(() => undefined);
  }
};

const explain = (what: string, error: unknown): unknown => {
  if (isGrpcServiceError(error)) {
    return transient('TEMPORAL_UNREACHABLE', `The Temporal server stopped answering; the ${what} goes on without us.`, {
      hint: 'Check that the server runs, then run the command again.',
      cause: error,
    });
  }
  if (!(error instanceof WorkflowFailedError)) return error;
  if (error.cause instanceof CancelledFailure) {
    return terminal('WORKFLOW_CANCELLED', `The ${what} was cancelled.`, {
      hint: 'What was done is kept; start it again to go on.',
      cause: error,
    });
  }
  return terminal('WORKFLOW_FAILED', `The ${what} ended with an error: ${rootMessage(error)}.`.replace(/\.\.$/, '.'), {
    hint: 'What was done is kept; start it again to go on.',
    cause: error,
  });
};

/** Our activities' failure messages carry no personal data; the innermost says what happened. */
const rootMessage = (error: unknown): string => {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current instanceof Error ? current.message : String(current);
};
