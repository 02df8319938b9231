import type { Client } from '@temporalio/client';
import { backfillId } from '../../../workflows/messages.ts';

export interface ListedBackfill {
  readonly name: string;
  /** As Temporal calls it: RUNNING, COMPLETED, FAILED, CANCELLED, … */
  readonly status: string;
  readonly startedAt: string;
}

/** The backfills of one installation that Temporal still remembers, newest first, each with its last run. */
export const listBackfills = async (client: Client, prefix: string): Promise<ListedBackfill[]> => {
  const own = backfillId(prefix, '');
  const newest = new Map<string, ListedBackfill>();
  for await (const { workflowId, status, startTime } of client.workflow.list({ query: "WorkflowType = 'backfill'" })) {
    if (!workflowId.startsWith(own)) continue;
    const name = workflowId.slice(own.length);
    const startedAt = startTime.toISOString();
    const known = newest.get(name);
    if (known === undefined || known.startedAt < startedAt) newest.set(name, { name, status: status.name, startedAt });
  }
  return [...newest.values()].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
};
