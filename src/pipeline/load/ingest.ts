/**
 * Observations → ledger → planned loads, in one transaction, for polls, webhooks, imports and replays. A pipeline folds
 * a batch while the batch before it loads.
 */
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { flattenCall, flattenChanges, flattenVersion } from '../../calls/flatten.ts';
import type { LedgerRow } from '../../calls/fold.ts';
import { growYoung } from '../../lib/bound-memory.ts';
import { CallsyncError, describeError } from '../../lib/errors.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import type { Transaction } from '../../postgres/database.ts';
import type { Page } from '../../source/list/list-client.ts';
import { requestRereads } from '../../store/delivery/inbox.ts';
import { quarantineRecords } from '../../store/delivery/quarantine.ts';
import { admit } from '../../store/gate.ts';
import { type LateContext, recordLateChanges } from '../../store/ledger/late-changes.ts';
import { foldIntoLedger, olderInLedger } from '../../store/ledger/ledger.ts';
import type { InvisibleDelivery, PlannedLoad } from '../../store/loads/loads.ts';
import { completeLoad, failLoad, keepLoad, markPending, planLoad } from '../../store/loads/loads.ts';
import { buryRevived } from '../../store/persons/calls.ts';
import { noteLost } from '../../store/status/lost-documents.ts';
import { type Withdraw, withdrawProof } from '../../store/windows/verdicts.ts';
import type { CallLoad, ChangeTime, LoadBatch, LoadResult, Warehouse } from '../../warehouse/warehouse.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';

interface IncomingBatch {
  readonly observations: readonly Observation[];
  /** Records that could not become observations. */
  readonly rejected?: readonly RejectedRecord[];
  /** Name under which the loads of this batch are recorded, such as `sync`, `inbox` or `import`. */
  readonly origin: string;
  /** Facts of a re-reading about the time of the changes that it finds. */
  readonly late?: LateContext | undefined;
  /** Called when its loads have ended, the last of which may take the bytes. After a failed one, something may still read its observations. */
  readonly done?: ((isUnread: boolean) => void) | undefined;
  /** Writes the outcome of the records at the end of the transaction. Gets the ids of the changed calls. */
  readonly settle?: (tx: Transaction, changed: readonly string[]) => Promise<void>;
}

/** A batch, or a function that reads the batch inside the transaction (undefined = no batch). */
type Incoming = IncomingBatch | ((tx: Transaction) => Promise<IncomingBatch | undefined>);

interface FoldedBatch {
  readonly changed: readonly LedgerRow[];
  readonly unchanged: number;
  readonly rejected: number;
  /** Loads planned in the folding transaction, one per immediate warehouse. */
  readonly loads: readonly { readonly plan: PlannedLoad; readonly target: WarehouseTarget }[];
  readonly done?: IncomingBatch['done'];
}

/**
 * Folds one batch in one transaction. Order of writes: ledger, quarantine, pending marks and planned loads, late
 * changes, the batch's own `settle`. Deletions lock calls before texts, too.
 * @throws CallsyncError DATABASE_…; nothing of the batch is then stored.
 * `load` = commits the planned loads; call it once.
 */
export const ingest = async (deps: IngestDeps, incoming: Incoming) => {
  let seen: readonly Observation[] = [];
  let origin: string | undefined;
  const { store, sanitize, rulesVersion } = deps;
  const clean = ({ observations }: IncomingBatch) =>
    observations.map((one) => ({ observation: one, clean: sanitize?.(one) ?? one }));
  // Rules take long: nothing is locked meanwhile where the batch is known by now.
  const known = typeof incoming === 'function' ? undefined : clean(incoming);
  const foldBatch = async (tx: Transaction, withdraw: Withdraw): Promise<FoldedBatch> => {
    const batch = typeof incoming === 'function' ? await incoming(tx) : incoming;
    if (batch === undefined) return { changed: [], unchanged: 0, rejected: 0, loads: [] };
    origin = batch.origin;
    if (batch.observations.length >= muchWork) growYoung();
    const cleaned = known ?? clean(batch);
    const { rejected = [] } = batch;
    const { kept, erased, tombstoned, texts } = await admit(tx, { cleaned, rejected }, deps);
    seen = kept;
    await buryRevived(tx, store, erased, withdraw);
    const { changed, replaced, unchanged } = await foldIntoLedger(tx, kept, {
      processedField: deps.processedField,
      tombstoned,
      privacy: sanitize && rulesVersion !== undefined ? { sanitize, version: rulesVersion } : undefined,
      // Without rules nothing is written for it, and the key of tombstones is not asked for.
      index: sanitize && store.index,
      onLost: (callIds) => noteLost(tx, withdraw, callIds),
    });
    if (texts.length > 0) await quarantineRecords(tx, texts);
    const changedIds = changed.map(({ callId }) => callId);
    const loads: FoldedBatch['loads'][number][] = [];
    if (changed.length > 0) {
      await markPending(tx, changedIds, urgencyOf(batch.origin));
      for (const target of deps.targets) {
        const { name: warehouse, traits } = target.warehouse;
        const rules = { warehouse, flattenVersion, origin: batch.origin };
        if (traits.immediate) loads.push({ plan: await planLoad(tx, rules, changed), target });
      }
    }
    if (replaced.length > 0)
      await recordLateChanges(tx, { changed, replaced, processedField: deps.processedField, context: batch.late });
    await batch.settle?.(tx, changedIds);
    return { changed, unchanged, rejected: rejected.length, loads, done: batch.done };
  };
  const folded = await withdrawProof(store, foldBatch, 'byKeys');
  await deps.drift?.see(seen);
  if (origin !== undefined) deps.observer?.folded({ ...folded, origin, changed: folded.changed.length });
  return { ...folded, load: () => loadFolded(deps, folded) };
};

/** So many calls need more memory, also where none of them changes. */
const muchWork = 20;

/** Calls of one transaction, from the pages of several windows. */
const callsTogether = 500;

/**
 * Pages of several windows that come while one is folded are then folded and loaded together: a transaction costs as much
 * as some calls. A page waits only for folds and loads that run.
 * @param origin of all pages. @param onIdle nothing is folded or loaded any more.
 */
const createGathering = (deps: IngestDeps, origin: string, onIdle: () => void) => {
  let open: IncomingBatch[] = [];
  let taken: Promise<{ readonly folded: FoldedBatch; readonly loading: Promise<unknown> }> | undefined;
  let loading: Promise<unknown> = Promise.resolve();
  const fold = async (pages: readonly IncomingBatch[], before: unknown) => {
    await Promise.allSettled([before]);
    if (open === pages) open = [];
    const observations = pages.flatMap((page) => page.observations);
    const done = (isUnread: boolean): void => {
      for (const page of pages) page.done?.(isUnread);
    };
    const folded = await ingest(deps, { observations, origin, done });
    await Promise.allSettled([loading]);
    loading = folded.load();
    return { folded, loading };
  };
  return (page: IncomingBatch) => {
    const calls = open.reduce((sum, { observations }) => sum + observations.length, page.observations.length);
    if (open.length === 0 || calls > callsTogether) {
      open = [page];
      const own = fold(open, taken);
      taken = own;
      const end = (): void => {
        if (taken === own) onIdle();
      };
      void Promise.allSettled([own])
        .then(() => loading)
        .then(end, end);
    } else open.push(page);
    return taken as NonNullable<typeof taken>;
  };
};

const gatherings = new WeakMap<IngestDeps, Map<string, ReturnType<typeof createGathering>>>();

const gatheringOf = (deps: IngestDeps, origin: string) => {
  const known = gatherings.get(deps) ?? new Map<string, ReturnType<typeof createGathering>>();
  // An idle gathering would keep the rows of its last batch, for each backfill that ever ran.
  const gathering = known.get(origin) ?? createGathering(deps, origin, () => known.delete(origin));
  gatherings.set(deps, known.set(origin, gathering));
  return gathering;
};

/** Folding of one batch overlaps with loading of the batch before it; memory holds two batches. */
export const createPipeline = (deps: IngestDeps) => {
  let loading: Promise<unknown> = Promise.resolve();
  let changed = 0;
  /** Folds a batch while the batch before it is loaded; returns when both are done and the load of this one runs. */
  const take = async (incoming: Incoming) => {
    const folded = await ingest(deps, incoming);
    changed += folded.changed.length;
    await loading;
    loading = folded.load();
    // `take` or `finish` awaits it; until then its failure must not count as unhandled.
    loading.catch(() => undefined);
    return folded;
  };
  return {
    take,
    /** Handlers of a reading. Pages that may be kept are taken together with those of other windows. */
    handlersOf: (origin: string) => ({
      onPage: async (observations: readonly Observation[], { keep }: Pick<Page, 'keep'>): Promise<void> => {
        const page = { observations, origin, done: keep?.() };
        const taken = page.done && (await gatheringOf(deps, origin)(page).catch(() => undefined));
        // Another page may be at fault.
        if (taken === undefined) return void (await take(page));
        const ids = new Set(observations.map(({ callId }) => callId));
        changed += taken.folded.changed.filter(({ callId }) => ids.has(callId)).length;
        await loading;
        ({ loading } = taken);
      },
      onRejected: async (rejected: readonly RejectedRecord[]): Promise<void> =>
        void (await take({ observations: [], rejected, origin })),
    }),
    /** Waits for the last load. */
    finish: () => loading,
    /** Calls whose document changed so far. */
    get changed() {
      return changed;
    },
  };
};

/**
 * Commits the planned loads of a folded batch. A warehouse that is away holds nothing back: its calls stay pending
 * and the sweep of pending calls brings them. Returns the calls written per warehouse.
 */
const loadFolded = async (deps: IngestDeps, folded: FoldedBatch): Promise<Record<string, number>> => {
  const written: Record<string, number> = {};
  let isUnread = true;
  for (const load of folded.loads) {
    const { plan, target } = load;
    const { name } = target.warehouse;
    try {
      const rows = folded.changed.map((row) => ({ row, partitions: [] }));
      written[name] = (await commitLoad(deps, target, { plan, rows, failsAtOrphans: true })).changed;
    } catch (error) {
      const code = error instanceof CallsyncError ? error.code : 'UNEXPECTED';
      deps.log('load failed, its calls stay pending', { warehouse: name, load: plan.loadId, code, error });
      written[name] = 0;
      isUnread = false;
    }
  }
  folded.done?.(isUnread);
  return written;
};

interface RowsToLoad extends Partial<Pick<LoadBatch, 'logs' | 'force' | 'failsAtOrphans'>> {
  readonly plan: PlannedLoad;
  readonly rows: readonly { readonly row: LedgerRow; readonly partitions: readonly (string | null)[] }[];
}

/** A fraction of the time after which a load counts as abandoned. */
const beatMs = 5_000;

/** Commits a planned load and records the outcome. @throws the warehouse's error; the calls stay pending. */
export const commitLoad = async (deps: IngestDeps, target: WarehouseTarget, load: RowsToLoad): Promise<LoadResult> => {
  const { store } = deps;
  if (load.rows.length >= muchWork) growYoung();
  const startedAt = performance.now();
  let outcome: 'committed' | 'failed' = 'failed';
  const beat = setInterval(() => void keepLoad(store, load.plan.loadId).catch(() => undefined), beatMs);
  try {
    const result = await target.warehouse.load(makeLoadBatch(deps, target, load));
    const isKnown = await completeLoad(store, load.plan, (found) => timesVisible(target.warehouse, result, found));
    // The ledger was restored, perhaps after its check. The service is asked for calls that only the warehouse has, before the
    // older ledger replaces their rows.
    const calls = load.rows.map(({ row }) => row);
    if (!isKnown) await requestRereads(store, await olderInLedger(store, calls), 'restored');
    outcome = 'committed';
    return result;
  } catch (error) {
    await failLoad(store, load.plan.loadId, describeError(error));
    throw error;
  } finally {
    clearInterval(beat);
    const seconds = (performance.now() - startedAt) / 1000;
    deps.observer?.loaded({ warehouse: load.plan.warehouse, outcome, calls: load.rows.length, seconds });
  }
};

/** If a question is cheap, deliveries that took longer are checked too, because a committed one may count as failed. */
const promptMicros = 2_000_000;

/**
 * When each delivery became visible. The warehouse knows better where it may have had one already: a worker ended before it
 * recorded a load, or the ledger was restored.
 */
const timesVisible = async (warehouse: Warehouse, result: LoadResult, found: readonly InvisibleDelivery[]) => {
  const { unchanged, committedAt = Date.now() * 1000 } = result;
  const isLate = (receivedAt: number) => warehouse.traits.immediate && committedAt - receivedAt > promptMicros;
  const doubtful = found.filter((one) => unchanged > 0 || one.isDoubtful || isLate(one.receivedAt));
  const known = new Map<string, ChangeTime[]>(doubtful.map(({ callId }) => [callId, []]));
  if (known.size > 0)
    for await (const one of warehouse.proof.listChangeTimes([...known.keys()])) known.get(one.callId)?.push(one);
  return found.map(({ callId, revision, receivedAt }) => {
    const later = (known.get(callId) ?? []).filter((one) => one.revision >= revision && one.loadedAt >= receivedAt);
    return Math.min(committedAt, ...later.map(({ loadedAt }) => loadedAt));
  });
};

/** The batch that a warehouse takes: calls are flattened when it writes them, so memory holds the rows of one call. */
const makeLoadBatch = (deps: IngestDeps, { documents }: WarehouseTarget, load: RowsToLoad): LoadBatch => {
  const { store, processedField } = deps;
  const { plan, rows, logs = {}, force = false, failsAtOrphans } = load;
  const options = { processedField, documents };
  const calls: CallLoad[] = [];
  const tombstones: LoadBatch['tombstones'][number][] = [];
  for (const { row, partitions } of rows) {
    const { callId, revision } = row;
    if (row.tombstone) tombstones.push({ callId, callKey: store.keyOf(callId), revision, partitions });
    else {
      const callTimestamp = parseTimestamp(row.document?.value('timestamp')) ?? null;
      const flatten = () => flattenCall(row, options).rows;
      const changes = flattenChanges(row, callTimestamp);
      calls.push({ callId, revision, callTimestamp, partitions, flatten, changes });
    }
  }
  return { ...plan, calls, tombstones, logs, force, failsAtOrphans, keyOf: store.keyOf };
};

/** Loads on request, however large, never delay current changes. */
const urgencyOf = (origin: string) => (origin === 'import' || origin.startsWith('backfill:') ? 'backlog' : 'change');
