/** Starts and asks workflows by their business ids. */
import { type Client, type WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/client';
import type { Range } from '../../schemas/orchestration.ts';
import * as messages from '../../workflows/messages.ts';
import { iso } from '../lib/timestamps.ts';

/** How long the merge stays awake for the next delivery. */
const maxDelayMs = 20_000;

/** Wakes the inbox merge, or starts it. The signal has no payload, because the inbox has the deliveries. */
export const wakeMergeInbox = async (client: Client, prefix: string): Promise<void> => {
  const queues = messages.taskQueuesOf(prefix);
  await client.workflow.signalWithStart('mergeInbox', {
    workflowId: messages.mergeInboxId(prefix),
    taskQueue: queues.workflows,
    args: [{ queues, maxDelayMs }],
    staticSummary: 'Merge of waiting webhook deliveries',
    signal: messages.wakeSignal,
    signalArgs: [],
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  });
};

/** Starts a workflow, or joins the one that runs under the same id. */
const startOrJoin = async (
  client: Client,
  prefix: string,
  {
    type,
    id,
    input,
    ...described
  }: Record<'type' | 'id' | 'staticSummary', string> & {
    readonly input: object;
    readonly staticDetails?: string;
  },
): Promise<WorkflowHandle> => {
  const queues = messages.taskQueuesOf(prefix);
  return await client.workflow.start(type, {
    workflowId: id,
    taskQueue: queues.workflows,
    args: [{ ...input, queues }],
    ...described,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  });
};

/** Starts a backfill, or joins the one that runs under the same name. */
export const startBackfill = (
  client: Client,
  prefix: string,
  input: Omit<messages.BackfillInput, 'queues' | 'range' | 'last'> & { readonly range: Range },
): Promise<WorkflowHandle> =>
  startOrJoin(client, prefix, {
    type: 'backfill',
    id: messages.backfillId(prefix, input.name),
    input,
    staticSummary: `Backfill ${input.name}`,
    staticDetails: `Axis ${input.axis}, ${iso(input.range.from)} to ${iso(input.range.to)}, ${input.direction}, ${input.concurrency} at once${input.force ? ', forced' : ''}.`,
  });

/** The handle of a backfill; whether there is one shows at its first use. */
export const backfillHandle = (client: Client, prefix: string, name: string): WorkflowHandle =>
  client.workflow.getHandle(messages.backfillId(prefix, name));

/** Loads the pending calls of a warehouse, or joins the running load. The store has the requests for rewriting. */
export const startLoadWarehouse = (client: Client, prefix: string, input: { warehouse: string; origin: string }) =>
  startOrJoin(client, prefix, {
    type: 'loadWarehouse',
    id: messages.loadWarehouseId(prefix, input.warehouse),
    input,
    staticSummary: `Load pending calls into ${input.warehouse} (${input.origin})`,
  });

/** Starts or joins the workflow that finishes an erasure. The payload is the erasure's name in the store. */
export const startErase = (client: Client, prefix: string, requestId: string): Promise<WorkflowHandle> =>
  startOrJoin(client, prefix, {
    type: 'erase',
    id: messages.eraseId(prefix, requestId),
    input: { requestId },
    staticSummary: `Erasure ${requestId}`,
  });

/** Starts a reconciliation that somebody asked for, or joins the one that runs under the same name. */
export const startReconcile = (
  client: Client,
  prefix: string,
  { name, request }: { readonly name: string; readonly request: messages.ReconcileInput['request'] },
): Promise<WorkflowHandle> =>
  startOrJoin(client, prefix, {
    type: 'reconcile',
    id: messages.reconcileId(prefix, name),
    input: { request },
    staticSummary: `Reconcile ${name}`,
  });
