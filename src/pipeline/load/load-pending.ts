/** Brings pending calls and log rows from the store into one warehouse: after a failure, a rebuild, a fill. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Row } from '../../../schemas/tables.ts';
import { flattenVersion } from '../../calls/flatten.ts';
import type { LedgerRow } from '../../calls/fold.ts';
import { CallsyncError, describeError, transient } from '../../lib/errors.ts';
import { partsOf } from '../../lib/pages.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { markDeliveriesLoaded, unloadedDeliveries } from '../../store/delivery/inbox.ts';
import { documentLost } from '../../store/ledger/ledger.ts';
import {
  countHeld,
  countPending,
  planLoad,
  type QueueCursor,
  readPending,
  refuseCall,
} from '../../store/loads/loads.ts';
import { waitingMs, walkBatch } from '../../store/loads/walk.ts';
import { isConfiguredSomewhere, keepRegistered } from '../../store/loads/warehouses.ts';
import { forgetDocuments } from '../../store/status/lost-documents.ts';
import { claimHeartbeat, forgetHeartbeat, readStateRow } from '../../store/status/state-row.ts';
import type { Store } from '../../store/store.ts';
import { markVerdictsLoaded, unloadedVerdicts } from '../../store/windows/verdicts.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { type IngestDeps, unlessAway, type WarehouseTarget } from '../deps.ts';
import { commitLoad } from './ingest.ts';

type WalkedBatch = NonNullable<Awaited<ReturnType<typeof walkBatch>>>;

interface LoadPendingInput {
  readonly warehouse: string;
  /** `pending` is the sweep, which repeats. Every other caller wants all waiting calls loaded now. */
  readonly origin: string;
  /** Seconds for which the calls of a planned load are left to the process that was last seen at it; 20 by default. */
  readonly graceSeconds?: number;
}

const defaultGraceSeconds = 20;
const deliveriesPerLoad = 800;
const verdictsPerLoad = 2_000;
/** Batches of a walk before each load, so that it marks more than is loaded. */
const walkedBatches = 10;
/** Longest wait for transactions that were under way when a walk was requested. */
const maxWaitMs = 10_000;
/** Longest run, so that a deploy does not wait for it. */
const maxMs = 30_000;

/**
 * Commits the pending calls of one warehouse, as far as its quotas allow.
 * `more`: time ran out before the end. `held`: calls in loads of other processes, which may be dead.
 * @throws CallsyncError WAREHOUSE_NOT_CONFIGURED if only other workers know the warehouse, or an error of the warehouse.
 */
export const loadPending = async (deps: IngestDeps, input: LoadPendingInput) => {
  const { store } = deps;
  const target = deps.targets.find(({ warehouse }) => warehouse.name === input.warehouse);
  if (target === undefined) {
    if (!(await isConfiguredSomewhere(store, input.warehouse))) return { sent: 0, changed: 0, more: false, held: 0 };
    throw transient('WAREHOUSE_NOT_CONFIGURED', `This worker does not know the warehouse ${input.warehouse}.`);
  }
  await keepRegistered(store, input.warehouse, flattenVersion);
  const { isDue, newOnly, mayCommit } = await paceRun(target.warehouse, input.origin, () =>
    countPending(store, input.warehouse),
  );
  const until = performance.now() + maxMs;
  const running: string[] = [];
  let [sent, changed, more] = [0, 0, false];
  let cursor: QueueCursor | undefined;
  const planNext = async (carriesLogs: boolean): ReturnType<typeof planBatch> => {
    if (!isDue) return undefined;
    more ||= performance.now() > until;
    if (more || !(await mayCommit())) return undefined;
    const planned = await planBatch(deps, target, { ...input, cursor, newOnly, running, carriesLogs });
    cursor = planned?.pending.cursor;
    sent += planned?.pending.calls.length ?? 0;
    if (planned !== undefined) running.push(planned.plan.loadId);
    return planned;
  };
  // One after another, or two would take the same calls.
  let planning: ReturnType<typeof planBatch> = Promise.resolve(undefined);
  const lane = async (carriesLogs: boolean): Promise<void> => {
    for (;;) {
      planning = planning.then(() => planNext(carriesLogs));
      const planned = await planning;
      if (planned === undefined) return;
      const loaded = await commitPending(deps, target, planned);
      changed += loaded.changed;
      if (planned.isLast) return;
    }
  };
  // A server writes one load while the next is prepared. Logs go with loads of the first lane.
  const lanes = target.warehouse.traits.immediate ? [true, false] : [true];
  for (const one of await Promise.allSettled(lanes.map(lane))) if (one.status === 'rejected') throw one.reason;
  if (more) return { sent, changed, more, held: 0 };
  await keepSyncState(deps, target);
  const held = await countHeld(store, input.warehouse, input.graceSeconds ?? defaultGraceSeconds);
  return { sent, changed, more, held };
};

/** The same for every warehouse that answers; another one gets its calls and rows later. */
export const loadWaiting = async (deps: IngestDeps, origin: string): Promise<void> => {
  for (const { warehouse } of deps.targets)
    await unlessAway(deps, warehouse, 'waiting rows could not be loaded', () =>
      loadPending(deps, { warehouse: warehouse.name, origin }),
    );
};

/** Longest wait of the sweep between two commits of one run. */
const longestPauseMs = 15_000;

/**
 * Limits of one run if commits cost quota or money. Only the sweep waits, because it repeats. If commits of changed
 * calls read whole days, the sweep batches these calls; new calls and erasures do not wait.
 */
export const paceRun = async (
  { pace, traits }: Pick<Warehouse, 'pace' | 'traits'>,
  origin: string,
  countWaiting: () => Promise<number>,
) => {
  const waitMs = async (kind: 'any' | 'changes' | 'interval'): Promise<number> =>
    origin === 'pending' ? ((await pace?.nextCommitInMs(kind)) ?? 0) : 0;
  return {
    // A backlog of a full load does not wait.
    isDue: (await waitMs('interval')) === 0 || (await countWaiting()) >= traits.maxCallsPerLoad,
    newOnly: (await waitMs('changes')) > 0,
    mayCommit: async () => (await waitMs('any')) <= longestPauseMs,
  };
};

/**
 * One commit of pending calls, or undefined if there are none. A requested rewrite also writes equal guards. The plan
 * records the partitions before anything is submitted.
 * @throws CallsyncError of the warehouse; the calls stay pending.
 */
export const loadPendingBatch = async (deps: IngestDeps, target: WarehouseTarget, options: BatchOptions) => {
  const planned = await planBatch(deps, target, options);
  return planned && { ...(await commitPending(deps, target, planned)), isLast: planned.isLast };
};

const planBatch = async (deps: IngestDeps, target: WarehouseTarget, options: BatchOptions) => {
  const until = performance.now() + maxWaitMs;
  for (;;) {
    const walk = await walkAhead(deps.store, target);
    const planned = await planPending(deps, target, options);
    if (planned !== undefined) return { ...planned, isLast: walk === undefined && isLast(planned) };
    if (walk === undefined || (walk.state === 'waiting' && performance.now() > until)) return undefined;
  }
};

/** Nothing waited behind it. Calls that come during its commit are for the next run, or a run would never end. */
const isLast = ({ pending, deliveries, verdicts }: PlannedPending): boolean =>
  pending.cursor === undefined && deliveries.length < deliveriesPerLoad && verdicts.length < verdictsPerLoad;

/** The warehouse refuses some of the rows, and would take others. */
const isRefusal = ({ traits }: Warehouse, error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && traits.faults.rowsRefused.includes(error.code);
/** If so many calls are refused and no load is committed, the fault is not one of single calls. */
const mostRefused = 5;

/** A call that the warehouse refuses holds back no other: its load is divided until the call is alone. */
const commitPending = async (deps: IngestDeps, target: WarehouseTarget, planned: PlannedPending) => {
  const refused: { readonly row: LedgerRow; readonly error: CallsyncError }[] = [];
  let [changed, loads] = [0, 0];
  const commit = async (part: PlannedPending | undefined): Promise<void> => {
    if (part === undefined) return;
    const { pending, deliveries, verdicts, plan } = part;
    const [first] = pending.calls;
    try {
      changed += await commitWhole(deps, target, part);
      loads += 1;
    } catch (error) {
      if (first === undefined || !isRefusal(target.warehouse, error)) throw error;
      const isAlone = pending.calls.length + deliveries.length + verdicts.length === 1;
      if (isAlone && refused.push({ row: first.row, error }) === mostRefused && loads === 0) {
        // Refused calls can stand in a row: the last one of the batch tells whether the warehouse refuses all.
        const ids = planned.pending.calls.slice(-1).map(({ row }) => row.callId);
        await commit(await planPending(deps, target, { origin: plan.origin, ids }));
        if (loads === 0) throw error;
      }
      const ids = isAlone ? [] : pending.calls.map(({ row }) => row.callId);
      for (const half of partsOf(ids, Math.ceil(ids.length / 2)))
        await commit(await planPending(deps, target, { origin: plan.origin, ids: half }));
    }
  };
  await commit(planned);
  for (const { row, error } of refused) await refuseCall(deps.store, target.warehouse.name, row, describeError(error));
  const erasure = refused.find(({ row }) => row.tombstone);
  if (erasure !== undefined) throw erasure.error;
  const { pending, deliveries } = planned;
  return { sent: pending.calls.length, changed, deliveries: deliveries.length, cursor: pending.cursor };
};

const commitWhole = async (deps: IngestDeps, target: WarehouseTarget, planned: PlannedPending): Promise<number> => {
  const { plan, pending, deliveries, verdicts } = planned;
  const rows = pending.calls;
  const { changed } = await commitLoad(deps, target, {
    plan,
    rows,
    logs: { deliveries, verdicts: verdicts.map((verdict): Row => ({ ...verdict })) },
    force: rows.some(({ rewrite }) => rewrite !== null),
  });
  await markDeliveriesLoaded(deps.store, target.warehouse.name, deliveries);
  // Marts read how far it is proven from sync_state: it follows at once, whenever it was last written.
  if (verdicts.length > 0) await forgetHeartbeat(deps.store, target.warehouse.name);
  const verdictIds = verdicts.map((verdict) => verdict.verdict_id);
  await markVerdictsLoaded(deps.store, verdictIds);
  return changed;
};

type BatchOptions = Pick<LoadPendingInput, 'origin' | 'graceSeconds'> & {
  /** These calls alone, without logs. */
  readonly ids?: readonly string[];
  readonly cursor?: QueueCursor | undefined;
  readonly newOnly?: boolean;
  /** Loads of this run. */
  readonly running?: readonly string[];
  readonly carriesLogs?: boolean;
};
type PlannedPending = NonNullable<Awaited<ReturnType<typeof planPending>>>;

/** A load with all that it carries; undefined when nothing waits that is worth a commit. */
const planPending = async ({ store }: IngestDeps, { warehouse }: WarehouseTarget, options: BatchOptions) => {
  for (;;) {
    let lost: readonly LedgerRow[] = [];
    const planned = await store.transaction(async (tx) => {
      const limit = warehouse.traits.maxCallsPerLoad;
      const rules = { graceSeconds: defaultGraceSeconds, ...options, limit, flattenVersion };
      const found = await readPending(tx, warehouse.name, rules, options.cursor);
      lost = found.calls.flatMap(({ row }) => (row.document === null ? row : []));
      const pending = { ...found, calls: found.calls.filter(({ row }) => row.document !== null) };
      const { carriesLogs = options.ids === undefined } = options;
      const deliveries = carriesLogs ? await unloadedDeliveries(tx, warehouse.name, deliveriesPerLoad) : [];
      const verdicts = carriesLogs ? await unloadedVerdicts(tx, warehouse.name, verdictsPerLoad) : [];
      // Rejected deliveries start no commit.
      const waiting = deliveries.filter(({ outcome }) => outcome !== 'rejected');
      if (pending.calls.length + verdicts.length + waiting.length === 0) return undefined;
      const plan = await planLoad(
        tx,
        { warehouse: warehouse.name, flattenVersion, origin: options.origin },
        pending.calls.map(({ row, rewrite }) => ({
          callId: row.callId,
          revision: row.revision,
          rewrite,
          partition: row.tombstone
            ? undefined
            : warehouse.traits.partitionOf(parseTimestamp(row.document?.value('timestamp')) ?? null),
        })),
      );
      return { plan, pending, deliveries, verdicts };
    });
    await forgetDocuments(store, lost);
    for (const row of lost) await refuseCall(store, warehouse.name, row, describeError(documentLost(row.callId)));
    // Other calls may wait behind the lost ones.
    if (planned !== undefined || lost.length === 0 || options.ids !== undefined) return planned;
  }
};

/** Keeps a walk for missing calls ahead of the loads; undefined if none is running. */
const walkAhead = async (store: Store, { warehouse }: WarehouseTarget): Promise<WalkedBatch | undefined> => {
  let batch: WalkedBatch | undefined;
  for (let looked = 0; looked < walkedBatches; looked += 1) {
    batch = await walkBatch(store, warehouse.name);
    if (batch?.state === 'waiting') await delay(waitingMs);
    if (batch?.state !== 'under way') return batch;
  }
  return batch;
};

/** Pending calls of every configured warehouse, by name. */
export const listPending = async (deps: IngestDeps): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { warehouse } of deps.targets) counts[warehouse.name] = await countPending(deps.store, warehouse.name);
  return counts;
};

/**
 * Updates the row of `sync_state` if it is due, so that the warehouse shows its freshness while nothing is loaded.
 * Every sweep asks; the warehouse limits the number of statements.
 * If a warehouse does not answer, callsync logs this and asks again in the next sweep.
 * @throws CallsyncError of the store.
 */
export const keepSyncState = async (deps: Pick<IngestDeps, 'store' | 'log'>, { warehouse }: WarehouseTarget) => {
  const { store } = deps;
  if (!(await claimHeartbeat(store, warehouse.name, warehouse.traits.heartbeatMs))) return;
  const row = await readStateRow(store, warehouse.name);
  const kept = await unlessAway(deps, warehouse, 'sync_state could not be kept', async () => {
    await warehouse.recordState(row);
    return true;
  });
  if (kept !== true) await forgetHeartbeat(store, warehouse.name);
};
