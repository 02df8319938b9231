/** Observations → ledger → warehouses. The one way in, whatever brought the observations. */
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { callTimestampOf, type FlatCall, flattenCall, flattenVersion } from '../../calls/flatten.ts';
import { type LedgerRow, type PreparedObservation, prepareObservation } from '../../calls/fold.ts';
import type { Sanitize } from '../../calls/sanitize.ts';
import { CallsyncError } from '../../errors.ts';
import type { Transaction } from '../../postgres/database.ts';
import type { LateContext } from '../../rereads/late-change.ts';
import { quarantineRecords } from '../../store/delivery/quarantine.ts';
import { recordLateChanges } from '../../store/ledger/late-changes.ts';
import { foldIntoLedger } from '../../store/ledger/ledger.ts';
import { completeLoad, failLoad, markPending, type PlannedLoad, planLoad } from '../../store/loads/loads.ts';
import type { Store } from '../../store/store.ts';
import type { CallLoad, LoadBatch, TombstoneLoad, Warehouse } from '../../warehouse/warehouse.ts';
import type { DriftWatch } from './watch-drift.ts';

export interface WarehouseTarget {
  readonly warehouse: Warehouse;
  readonly documents: boolean;
}

export interface IngestDeps {
  readonly store: Store;
  readonly targets: readonly WarehouseTarget[];
  readonly sanitize: Sanitize;
  /** The field of a record that holds the end of processing. */
  readonly processedField: string;
  readonly log: (event: string, fields: Record<string, unknown>) => void;
  /** Told of everything that was folded, where somebody wants to know. */
  readonly drift?: DriftWatch;
}

export interface FoldedBatch {
  readonly changed: readonly LedgerRow[];
  readonly unchanged: number;
  readonly rejected: number;
  /** Loads planned in the folding transaction, one per immediate warehouse. */
  readonly loads: readonly { readonly plan: PlannedLoad; readonly target: WarehouseTarget }[];
}

/** The reason why an observation that cannot be rendered goes to quarantine. */
export const tooDeep = 'nested too deeply to be written as JSON';

/** Sanitizes and renders an observation; undefined when it cannot be written as JSON. */
export const tryPrepare = (observation: Observation, sanitize: Sanitize): PreparedObservation | undefined => {
  try {
    return prepareObservation(sanitize(observation));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};

/** What follows a fold inside its transaction: pending marks everywhere, planned loads for immediate warehouses. */
export const planAfterFold = async (
  deps: IngestDeps,
  tx: Transaction,
  changed: readonly LedgerRow[],
  origin: string,
): Promise<FoldedBatch['loads']> => {
  if (changed.length === 0) return [];
  const epoch = await deps.store.epoch(tx);
  await markPending(
    tx,
    deps.targets.map((target) => target.warehouse.name),
    changed.map((row) => row.callId),
  );
  const loads: { plan: PlannedLoad; target: WarehouseTarget }[] = [];
  for (const target of deps.targets.filter((candidate) => candidate.warehouse.immediate)) {
    const plan = await planLoad(tx, { warehouse: target.warehouse.name, epoch, flattenVersion, origin }, changed);
    loads.push({ plan, target });
  }
  return loads;
};

/** Where the bytes are gone: the id, by which the call can be asked for again. */
const refuseById =
  (origin: string) =>
  ({ callId, source }: Observation, reason: string): RejectedRecord => ({
    reason,
    body: Buffer.from(callId),
    source,
    origin,
    receivedAt: new Date(),
  });

/** Folds one batch and plans its loads in one transaction. Rejected records go to quarantine in the same. */
export const foldBatch = async (
  deps: IngestDeps,
  input: {
    observations: readonly Observation[];
    rejected: readonly RejectedRecord[];
    origin: string;
    /** What goes to quarantine of an observation that cannot be written as JSON. */
    refuse?: (observation: Observation, reason: string) => RejectedRecord;
    /** What a re-reading knows of the time of the changes that it finds. */
    late?: LateContext;
  },
): Promise<FoldedBatch> => {
  const prepared: PreparedObservation[] = [];
  const refused: RejectedRecord[] = [...input.rejected];
  for (const observation of input.observations) {
    const one = tryPrepare(observation, deps.sanitize);
    if (one !== undefined) prepared.push(one);
    else refused.push((input.refuse ?? refuseById(input.origin))(observation, tooDeep));
  }
  const folded = await deps.store.transaction(async (tx) => {
    await quarantineRecords(tx, refused);
    const { changed, replaced, unchanged } = await foldIntoLedger(tx, prepared, deps.processedField);
    const loads = await planAfterFold(deps, tx, changed, input.origin);
    await recordLateChanges(tx, { changed, replaced, processedField: deps.processedField, context: input.late });
    return { changed, unchanged, rejected: refused.length, loads };
  });
  await deps.drift?.see(input.observations);
  return folded;
};

/** The rows of one ledger row as a warehouse takes them. */
export const flattenRow = (
  deps: Pick<IngestDeps, 'processedField'>,
  target: WarehouseTarget,
  row: LedgerRow,
): FlatCall =>
  flattenCall({
    callId: row.callId,
    document: row.document ?? {},
    firstSeenAt: row.firstSeenAt,
    lastSeenAt: row.changedAt,
    missingSince: row.missingSince,
    processedField: deps.processedField,
    documents: target.documents,
  });

/** A batch of ledger rows for one warehouse. */
export const batchOf = (
  deps: IngestDeps,
  target: WarehouseTarget,
  plan: PlannedLoad,
  rows: readonly {
    readonly row: LedgerRow;
    readonly partitions: readonly (string | null)[];
    readonly flat?: FlatCall;
  }[],
): LoadBatch => {
  const calls: CallLoad[] = [];
  const tombstones: TombstoneLoad[] = [];
  for (const { row, partitions, flat } of rows) {
    const { callId, revision } = row;
    if (row.tombstone) {
      tombstones.push({ callId, callKey: deps.store.keyOf(callId), revision, partitions });
      continue;
    }
    const callTimestamp = callTimestampOf(row.document ?? {});
    // Flattened when the warehouse writes it: a call's rows are then gone before those of the next are made.
    calls.push({
      callId,
      revision,
      callTimestamp,
      partitions,
      get rows() {
        return (flat ?? flattenRow(deps, target, row)).rows;
      },
    });
  }
  return { ...plan, calls, tombstones, logs: {}, keyOf: deps.store.keyOf };
};

/**
 * Commits the planned loads of a folded batch. A warehouse that is away holds nothing back: its calls stay pending
 * and the sweep of pending calls brings them. Returns the calls written per warehouse.
 */
export const loadFolded = async (deps: IngestDeps, folded: FoldedBatch): Promise<Record<string, number>> => {
  const written: Record<string, number> = {};
  for (const { plan, target } of folded.loads) {
    const { name } = target.warehouse;
    try {
      const rows = folded.changed.map((row) => ({ row, partitions: [] }));
      const result = await target.warehouse.load(batchOf(deps, target, plan, rows));
      await completeLoad(deps.store, plan);
      written[name] = result.changed;
    } catch (error) {
      const code = error instanceof CallsyncError ? error.code : 'UNEXPECTED';
      deps.log('load failed, its calls stay pending', { warehouse: name, load: plan.loadId, code, error });
      await failLoad(deps.store, plan.loadId, code);
      written[name] = 0;
    }
  }
  return written;
};
