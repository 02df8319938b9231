/**
 * Waits until a range is proven and its warehouses say so themselves: looks at the verdicts, and starts the reconciliation and the
 * loads that are missing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { ReconcileProgress } from '../../../workflows/messages.ts';
import { countOf } from '../../lib/count-of.ts';
import { CallsyncError, transient } from '../../lib/errors.ts';
import { lookAtProof, type ProofFound, type ProofRequest } from '../../pipeline/reconcile/look-at-proof.ts';
import type { Store } from '../../store/store.ts';
import type { ProofLevel } from '../../store/windows/verdicts.ts';
import { startLoadWarehouse, startReconcile } from '../../temporal/workflow-client.ts';
import { askList } from '../commands/doctor/check-source.ts';
import { followWorkflow } from './follow-workflow.ts';
import { openSource } from './open-source.ts';
import { openTemporal } from './open-temporal.ts';
import { openWarehouse } from './open-warehouse.ts';
import { openWarehouses } from './open-warehouses.ts';
import type { Services } from './services.ts';

interface AwaitRequest extends Omit<ProofRequest, 'warehouses'> {
  readonly warehouses: readonly string[];
  /** 0 looks once and starts nothing. */
  readonly timeoutMs: number;
}

/** Pauses between reconciliations that did not prove everything: they double up to the longest. */
const firstPauseMs = 5_000;
const longestPauseMs = 300_000;
const answerMs = 10_000;

/**
 * Returns once all is proven and can be read in every warehouse, or time is up.
 * @throws CallsyncError PROOF_UNANSWERED when time is up because the service or a warehouse did not answer; NO_WORKER,
 * TEMPORAL_UNREACHABLE, or of the store or a warehouse, at once
 */
export const awaitProof = async (store: Store, services: Services, request: AwaitRequest): Promise<ProofFound> => {
  const deadline = Date.now() + request.timeoutMs;
  const asked = request.warehouses.map((name) => openWarehouse(services, store, name));
  const look = () => lookAtProof(store, { ...request, warehouses: asked });
  let found = await look();
  if (isShown(found) || request.timeoutMs === 0) return found;
  if (found.lost.length > 0) {
    services.say(`${found.lost.join(', ')} has lost loads: what it lacks is sent again.`);
    await openWarehouses(services, store);
    found = await look();
  }
  const { client } = await openTemporal(services);
  const prefix = services.config.temporal.task_queue;
  const until = { deadline, say: services.say };
  const load = async (): Promise<string | undefined> => {
    let failure: string | undefined;
    for (const warehouse of found.behind) {
      const handle = await startLoadWarehouse(client, prefix, { warehouse, origin: 'await' });
      failure = (await followUntil(handle, { ...until, what: 'load' })) ?? failure;
    }
    found = await look();
    return failure;
  };
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    let failure: string | undefined;
    if (!found.proven) {
      const handle = await startReconcile(client, prefix, reconcileOf(found, request.level));
      failure = await followUntil(handle, { ...until, what: 'reconciliation', complaintOf });
      found = await look();
    }
    if (found.proven) failure = await load();
    if (isShown(found)) return found;
    if (Date.now() + pauseMs >= deadline) {
      const unanswered = failure ?? (await askInVain(services));
      if (unanswered === undefined) return found;
      throw transient('PROOF_UNANSWERED', `The range could not be proven in time: ${unanswered}`, {
        hint: 'Run the same command again once it answers; what was proven meanwhile is kept.',
      });
    }
    services.say(
      found.proven
        ? `It is proven, but cannot be read in ${found.behind.join(', ')} yet; it is tried again after a pause.`
        : 'Not all of it could be proven; it is compared again after a pause.',
    );
    await delay(pauseMs);
  }
};

const isShown = ({ proven, behind }: ProofFound): boolean => proven && behind.length === 0;

/** The least range that holds all that is missing. Days that have a verdict of a lower level are compared again. */
const reconcileOf = ({ warehouses }: ProofFound, level: ProofLevel): Parameters<typeof startReconcile>[2] => {
  const missing = Object.values(warehouses).flat();
  const range = { from: Math.min(...missing.map(({ from }) => from)), to: Math.max(...missing.map(({ to }) => to)) };
  const { source, warehouse } = level;
  return {
    name: ['await', range.from, range.to, source, warehouse].filter((part) => part !== undefined).join('-'),
    request: { range, force: true, ...(source && { level: source }), ...(warehouse && { warehouseLevel: warehouse }) },
  };
};

/** Follows a workflow to its end or the deadline. @returns what it, or its result, says did not answer; undefined when everything did. */
const followUntil = async <Result>(
  handle: WorkflowHandle,
  {
    deadline,
    say,
    what,
    complaintOf,
  }: {
    readonly deadline: number;
    readonly say: (message: string) => void;
    readonly what: string;
    readonly complaintOf?: (result: Result) => string | undefined;
  },
): Promise<string | undefined> => {
  const signal = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
  const followed = await followWorkflow<Result>(handle, { what, signal, say });
  return followed.ended ? complaintOf?.(followed.result) : await failingActivity(handle);
};

const complaintOf = ({ totals: { unreachable, failed } }: ReconcileProgress): string | undefined => {
  if (unreachable > 0) return `A warehouse did not answer ${countOf(unreachable, 'time')}.`;
  return failed > 0 ? `${countOf(failed, 'window')} failed; the log of the worker says why.` : undefined;
};

/** What an activity fails with that is tried again and again; the messages of our activities hold no call data. */
const failingActivity = async (handle: WorkflowHandle): Promise<string | undefined> => {
  const { raw } = await handle.describe();
  return raw.pendingActivities?.find(({ lastFailure }) => lastFailure)?.lastFailure?.message ?? undefined;
};

/** Why the service does not answer now; undefined where it does. An activity may be patient with it for minutes. */
const askInVain = async (services: Services): Promise<string | undefined> => {
  try {
    await askList(openSource(services), AbortSignal.timeout(answerMs));
    return undefined;
  } catch (error) {
    return error instanceof CallsyncError ? error.message : 'The service does not answer.';
  }
};
