/** Starts and asks workflows by their business ids. */
import { type Client, type WorkflowHandle, WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/client';
import type { Range } from '../../schemas/orchestration.ts';
import {
  type BackfillInput,
  backfillId,
  type EraseInput,
  eraseId,
  loadWarehouseId,
  mergeInboxId,
  type ReconcileInput,
  reconcileId,
  taskQueuesOf,
  wakeSignal,
} from '../../workflows/messages.ts';
import { searchAttributesFor } from './search-attributes.ts';

const describe = (micros: number): string => new Date(micros / 1000).toISOString();

/** How long the merge stays awake for the next delivery. */
const maxDelayMs = 20_000;

/** Wakes the inbox merge, starting it where it does not run. Carries nothing: the inbox says what landed. */
export const wakeMergeInbox = async (client: Client, prefix: string): Promise<void> => {
  const queues = taskQueuesOf(prefix);
  await client.workflow.signalWithStart('mergeInbox', {
    workflowId: mergeInboxId(prefix),
    taskQueue: queues.workflows,
    args: [{ queues, maxDelayMs }],
    staticSummary: 'Merge of waiting webhook deliveries',
    ...(await searchAttributesFor(client, { kind: 'merge' })),
    signal: wakeSignal,
    signalArgs: [],
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  });
};

/** Starts a backfill, or joins the one that runs under the same name. */
export const startBackfill = async (
  client: Client,
  prefix: string,
  input: Omit<BackfillInput, 'queues' | 'range' | 'last'> & { readonly range: Range },
): Promise<WorkflowHandle> => {
  const queues = taskQueuesOf(prefix);
  return await client.workflow.start('backfill', {
    workflowId: backfillId(prefix, input.name),
    taskQueue: queues.workflows,
    args: [{ ...input, queues } satisfies BackfillInput],
    staticSummary: `Backfill ${input.name}`,
    staticDetails: `Axis ${input.axis}, ${describe(input.range.from)} to ${describe(input.range.to)}, ${input.direction}, ${input.concurrency} at once${input.force ? ', forced' : ''}.`,
    ...(await searchAttributesFor(client, { kind: 'backfill', axis: input.axis })),
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  });
};

/** The handle of a backfill; whether there is one shows at its first use. */
export const backfillHandle = (client: Client, prefix: string, name: string): WorkflowHandle =>
  client.workflow.getHandle(backfillId(prefix, name));

/** Loads what is pending in a warehouse, or joins the load that runs; the store knows what is to be written again. */
export const startLoadWarehouse = async (
  client: Client,
  prefix: string,
  input: { readonly warehouse: string; readonly origin: string },
): Promise<WorkflowHandle> => {
  const queues = taskQueuesOf(prefix);
  return await client.workflow.start('loadWarehouse', {
    workflowId: loadWarehouseId(prefix, input.warehouse),
    taskQueue: queues.workflows,
    args: [{ ...input, queues }],
    staticSummary: `Load what is pending in ${input.warehouse} (${input.origin})`,
    ...(await searchAttributesFor(client, { kind: 'load', warehouse: input.warehouse })),
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  });
};

/** Carries an erasure of the store to its end, or joins the workflow that does. Its payload is the name that the store gave it. */
export const startErase = async (client: Client, prefix: string, requestId: string): Promise<WorkflowHandle> => {
  const queues = taskQueuesOf(prefix);
  return await client.workflow.start('erase', {
    workflowId: eraseId(prefix, requestId),
    taskQueue: queues.workflows,
    args: [{ queues, requestId } satisfies EraseInput],
    staticSummary: `Erasure ${requestId}`,
    ...(await searchAttributesFor(client, { kind: 'erase' })),
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  });
};

/** Starts a reconciliation that somebody asked for, or joins the one that runs under the same name. */
export const startReconcile = async (
  client: Client,
  prefix: string,
  input: { readonly name: string; readonly request: ReconcileInput['request'] },
): Promise<WorkflowHandle> => {
  const queues = taskQueuesOf(prefix);
  return await client.workflow.start('reconcile', {
    workflowId: reconcileId(prefix, input.name),
    taskQueue: queues.workflows,
    args: [{ queues, request: input.request } satisfies ReconcileInput],
    staticSummary: `Reconcile ${input.name}`,
    ...(await searchAttributesFor(client, { kind: 'reconcile' })),
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  });
};
