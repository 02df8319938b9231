import type { WorkflowHandle } from '@temporalio/client';
import { type BackfillProgress, progressQuery } from '../../../workflows/messages.ts';
import { transient } from '../../lib/errors.ts';
import { say } from '../shell/output.ts';
import { createProgressView } from '../shell/progress.ts';
import { followWorkflow } from './follow-workflow.ts';

const everyMs = 500;

/**
 * Shows a backfill until it ends, or until `signal`: then what was seen last of it. Leaving the view does not stop it.
 * @throws CallsyncError NO_WORKER, WORKFLOW_FAILED, WORKFLOW_CANCELLED, TEMPORAL_UNREACHABLE; transient
 * BACKFILL_UNANSWERED when `signal` came before any worker told its progress.
 */
export const watchBackfill = async (
  handle: WorkflowHandle,
  title: string,
  signal?: AbortSignal,
): Promise<BackfillProgress> => {
  const view = createProgressView(title);
  let last: BackfillProgress | undefined;
  const show = (progress: BackfillProgress): void => {
    last = progress;
    view.update(progress);
  };
  try {
    const followed = await followWorkflow<BackfillProgress, BackfillProgress>(handle, {
      what: 'backfill',
      look: { everyMs, ask: () => handle.query(progressQuery), show },
      say,
      signal,
    });
    if (followed.ended) show({ ...followed.result, share: shareOf(followed.result) });
  } finally {
    view.stop();
  }
  if (last !== undefined) return last;
  throw transient('BACKFILL_UNANSWERED', `No worker has told how far ${title} is; it is kept and waits for one.`, {
    hint: 'Start one with callsync worker or callsync up, then look again with callsync backfill watch.',
  });
};

/** Calls may leave a range after they were counted: what is done is done in full. */
export const shareOf = ({ state, share }: BackfillProgress): number => (state === 'done' ? 1 : share);
