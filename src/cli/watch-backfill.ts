import type { WorkflowHandle } from '@temporalio/client';
import { type BackfillProgress, progressQuery } from '../../workflows/messages.ts';
import { terminal } from '../errors.ts';
import { createProgressView } from './progress.ts';

const everyMs = 500;

/** Shows a backfill until it ends. Leaving the view does not stop it. @throws terminal BACKFILL_FAILED */
export const watchBackfill = async (
  handle: WorkflowHandle,
  title: string,
  signal?: AbortSignal,
): Promise<BackfillProgress> => {
  const view = createProgressView(title);
  let ended = false;
  const result = handle.result().finally(() => {
    ended = true;
  }) as Promise<BackfillProgress>;
  result.catch(() => undefined);
  try {
    while (!ended && signal?.aborted !== true) {
      const progress = await handle.query(progressQuery).catch(() => undefined);
      if (progress !== undefined) view.update(progress);
      await Promise.race([result.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, everyMs))]);
    }
    if (signal?.aborted === true && !ended) return await handle.query(progressQuery);
    const final = await result;
    view.update(final);
    return final;
  } catch (error) {
    throw terminal('BACKFILL_FAILED', `The backfill ended with an error: ${rootMessage(error)}`, {
      mend: 'What was read is kept; start it again to go on.',
      cause: error,
    });
  } finally {
    view.stop();
  }
};

/** Our activities' failure messages carry no personal data; the innermost says what happened. */
const rootMessage = (error: unknown): string => {
  let current = error;
  while (current instanceof Error && current.cause instanceof Error) current = current.cause;
  return current instanceof Error ? current.message : String(current);
};
