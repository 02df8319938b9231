/** Brings pending calls and delivery records from the ledger into one warehouse: after a failure, a rebuild, a fill. */
import type { FlatCall } from '../../calls/flatten.ts';
import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError } from '../../errors.ts';
import { markDeliveriesLoaded, unloadedDeliveries } from '../../store/delivery/inbox.ts';
import { completeLoad, failLoad, planLoad, readPending } from '../../store/loads/loads.ts';
import { markVerdictsLoaded, unloadedVerdicts, verdictRow } from '../../store/windows/verdicts.ts';
import { partitionOf } from '../../warehouse/bigquery/partitions.ts';
import { batchOf, flattenRow, type IngestDeps, type WarehouseTarget } from './ingest.ts';

export interface PendingLoadResult {
  readonly sent: number;
  readonly changed: number;
  readonly deliveries: number;
}

/** Seconds for which calls of a planned load are left to whoever planned it, unless the caller knows better. */
const defaultGraceSeconds = 120;
const deliveriesPerLoad = 5_000;
const verdictsPerLoad = 2_000;

/**
 * One commit of what is pending, or undefined when nothing is. Where a rewrite was asked for, equal guards are written too.
 * Partitions are recorded with the plan, before anything is submitted.
 * @throws CallsyncError of the warehouse; the calls stay pending.
 */
export const loadPendingBatch = async (
  deps: IngestDeps,
  target: WarehouseTarget,
  options: { readonly origin: string; readonly graceSeconds?: number },
): Promise<PendingLoadResult | undefined> => {
  const { warehouse } = target;
  const planned = await deps.store.transaction(async (tx) => {
    const graceSeconds = options.graceSeconds ?? defaultGraceSeconds;
    const pending = await readPending(tx, warehouse.name, {
      limit: warehouse.maxCallsPerLoad,
      graceSeconds,
      flattenVersion,
    });
    const deliveries = await unloadedDeliveries(tx, warehouse.name, deliveriesPerLoad);
    const verdicts = await unloadedVerdicts(tx, warehouse.name, verdictsPerLoad);
    if (pending.length === 0 && deliveries.length === 0 && verdicts.length === 0) return undefined;
    const rows = pending.map((call) => {
      const flat: FlatCall | undefined = call.row.tombstone ? undefined : flattenRow(deps, target, call.row);
      return { ...call, ...(flat === undefined ? {} : { flat }) };
    });
    const partitioned = warehouse.kind === 'bigquery';
    const epoch = await deps.store.epoch(tx);
    const plan = await planLoad(
      tx,
      { warehouse: warehouse.name, epoch, flattenVersion, origin: options.origin },
      rows.map(({ row, flat, rewrite }) => ({
        callId: row.callId,
        revision: row.revision,
        rewrite,
        ...(partitioned && flat !== undefined ? { partition: partitionOf(flat.callTimestamp) } : {}),
      })),
    );
    return { plan, rows, deliveries, verdicts };
  });
  if (planned === undefined) return undefined;
  const { plan, rows, deliveries, verdicts } = planned;
  try {
    const batch = { ...batchOf(deps, target, plan, rows), logs: { deliveries, verdicts: verdicts.map(verdictRow) } };
    const force = rows.some(({ rewrite }) => rewrite !== null);
    const result = await warehouse.load(force ? { ...batch, force } : batch);
    await completeLoad(deps.store, plan);
    await markDeliveriesLoaded(
      deps.store,
      warehouse.name,
      deliveries.map((row) => row[0] as number),
    );
    await markVerdictsLoaded(
      deps.store,
      verdicts.map((verdict) => verdict.verdict_id),
    );
    return { sent: rows.length, changed: result.changed, deliveries: deliveries.length };
  } catch (error) {
    await failLoad(deps.store, plan.loadId, error instanceof CallsyncError ? error.code : 'UNEXPECTED');
    throw error;
  }
};
