/** Brings pending calls and log rows from the store into one warehouse: after a failure, a rebuild, a fill. */
import { callTimestampOf, flattenVersion } from '../../calls/flatten.ts';
import { transient } from '../../errors.ts';
import { markDeliveriesLoaded, unloadedDeliveries } from '../../store/delivery/inbox.ts';
import { countHeld, countPending, planLoad, readPending } from '../../store/loads/loads.ts';
import { isConfiguredSomewhere } from '../../store/loads/warehouses.ts';
import { markVerdictsLoaded, unloadedVerdicts, verdictRow } from '../../store/windows/verdicts.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';
import { commitLoad } from './commit-load.ts';
import { callsToLoad } from './pace-loads.ts';

export interface LoadPendingInput {
  readonly warehouse: string;
  /** `pending` is the sweep, which comes again; everything else wants what waits loaded now. */
  readonly origin: string;
  /** Seconds for which the calls of a planned load are left to the process that was last seen at it; 20 by default. */
  readonly graceSeconds?: number;
}

export interface PendingLoadResult {
  readonly sent: number;
  readonly changed: number;
  readonly deliveries: number;
}

export interface PendingLoads {
  readonly sent: number;
  readonly changed: number;
  readonly more: boolean;
  readonly held: number;
}

const defaultGraceSeconds = 20;
const deliveriesPerLoad = 5_000;
const verdictsPerLoad = 2_000;
/** A run ends after this much, so that a deploy does not wait for it. */
const maxMs = 30_000;

/**
 * Commits what is pending in one warehouse, as far as its quotas allow now; `more` says that time ran out before, `held`
 * how many calls are left to loads of other processes, which may have been killed.
 * @throws CallsyncError WAREHOUSE_ELSEWHERE when only other workers know the warehouse, or one of the warehouse.
 */
export const loadPending = async (deps: IngestDeps, input: LoadPendingInput): Promise<PendingLoads> => {
  const { store } = deps;
  const target = deps.targets.find(({ warehouse }) => warehouse.name === input.warehouse);
  if (target === undefined) {
    if (!(await isConfiguredSomewhere(store, input.warehouse))) return { sent: 0, changed: 0, more: false, held: 0 };
    throw transient('WAREHOUSE_ELSEWHERE', `This worker does not know the warehouse ${input.warehouse}.`, {
      hint: 'Restart it with the present configuration; until then another worker takes the load.',
    });
  }
  const limit = await callsToLoad({
    warehouse: target.warehouse,
    origin: input.origin,
    waiting: () => countPending(store, input.warehouse),
  });
  const until = performance.now() + maxMs;
  let sent = 0;
  let changed = 0;
  while (limit !== undefined) {
    const loaded = await loadPendingBatch(deps, target, input);
    if (loaded === undefined) break;
    sent += loaded.sent;
    changed += loaded.changed;
    if (sent >= limit) break;
    if (performance.now() > until) return { sent, changed, more: true, held: 0 };
  }
  const held = await countHeld(store, input.warehouse, input.graceSeconds ?? defaultGraceSeconds);
  return { sent, changed, more: false, held };
};

/**
 * One commit of what is pending, or undefined when nothing is. Where a rewrite was asked for, equal guards are written too.
 * Partitions are recorded with the plan, before anything is submitted.
 * @throws CallsyncError of the warehouse; the calls stay pending.
 */
export const loadPendingBatch = async (
  deps: IngestDeps,
  target: WarehouseTarget,
  options: Pick<LoadPendingInput, 'origin' | 'graceSeconds'>,
): Promise<PendingLoadResult | undefined> => {
  const { warehouse } = target;
  const { store } = deps;
  const planned = await deps.store.transaction(async (client) => {
    const rows = await readPending(client, warehouse.name, {
      limit: warehouse.maxCallsPerLoad,
      graceSeconds: options.graceSeconds ?? defaultGraceSeconds,
      flattenVersion,
    });
    const deliveries = await unloadedDeliveries(client, warehouse.name, deliveriesPerLoad);
    const verdicts = await unloadedVerdicts(client, warehouse.name, verdictsPerLoad);
    if (rows.length === 0 && deliveries.length === 0 && verdicts.length === 0) return undefined;
    const plan = await planLoad(
      client,
      { warehouse: warehouse.name, epoch: await deps.store.epoch(client), flattenVersion, origin: options.origin },
      rows.map(({ row, rewrite }) => ({
        callId: row.callId,
        revision: row.revision,
        rewrite,
        partition: row.tombstone ? undefined : warehouse.partitionOf(callTimestampOf(row.document ?? {})),
      })),
    );
    return { plan, rows, deliveries, verdicts };
  });
  if (planned === undefined) return undefined;
  const { plan, rows, deliveries, verdicts } = planned;
  const { changed } = await commitLoad(deps, target, {
    plan,
    rows,
    logs: { deliveries, verdicts: verdicts.map(verdictRow) },
    force: rows.some(({ rewrite }) => rewrite !== null),
  });
  await markDeliveriesLoaded(
    store,
    warehouse.name,
    deliveries.map((row) => row[0] as number),
  );
  await markVerdictsLoaded(
    store,
    verdicts.map((verdict) => verdict.verdict_id),
  );
  return { sent: rows.length, changed, deliveries: deliveries.length };
};

/** Pending calls of every configured warehouse, by name. */
export const listPending = async (deps: IngestDeps): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { warehouse } of deps.targets) counts[warehouse.name] = await countPending(deps.store, warehouse.name);
  return counts;
};
