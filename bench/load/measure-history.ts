/** Size and billable actions of workflow histories. */

import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';

const { History } = proto.temporal.api.history.v1;
const { EventType } = proto.temporal.api.enums.v1;

export interface HistoryFigures {
  readonly workflowId: string;
  readonly events: number;
  readonly bytes: number;
  /** Starts, activities (each attempt that the history shows), timers, signals, updates, continue-as-new. */
  readonly actions: number;
  readonly encoded: Buffer;
}

const billed = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
  EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
  EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
]);

/** Every run of every workflow whose id begins with the prefix. Waits until visibility lists at least one. */
export const measureHistories = async (client: Client, prefix: string): Promise<HistoryFigures[]> => {
  const figures: HistoryFigures[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query: `WorkflowId STARTS_WITH "${prefix}"` })) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    const events = history.events ?? [];
    const encoded = Buffer.from(History.encode(history).finish());
    figures.push({
      workflowId,
      events: events.length,
      bytes: encoded.length,
      // A heartbeat is billed too, but the server keeps none of them in a history.
      actions: events.filter((event) => billed.has(event.eventType as number)).length,
      encoded,
    });
  }
  return figures;
};
