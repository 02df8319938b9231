/** Reconciles one window: compares the API, the ledger and every warehouse, heals, and records a verdict per warehouse. */
import type { Range, SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { canLeaveOut } from '../../source/list/list-query.ts';
import { findTombstones, type LedgerAxis, listWindowCalls, revisionsDigest } from '../../store/ledger/read-ledger.ts';
import { readClock } from '../../store/loads/compared.ts';
import { addVerdict, listedInEarlierWeeks, type StoredVerdict } from '../../store/windows/verdicts.ts';
import type { ReadDeps, RunOptions, WarehouseTarget } from '../deps.ts';
import { type ChangedReading, readChanged } from '../read/read-changed.ts';
import { compareWarehouse } from './compare-warehouse.ts';
import { confirmGone, type GoneCalls } from './confirm-gone.ts';
import { healWarehouse } from './heal-warehouse.ts';
import { isSuspiciouslyEmpty, judgeWindow } from './judge-window.ts';
import { removeUnexpected } from './remove-unexpected.ts';

export interface ReconcileDeps extends ReadDeps {
  readonly now: () => Date;
  /** Version of callsync, recorded in verdicts. */
  readonly version: string;
}

interface ReconcileWindowInput {
  readonly axis: string;
  readonly column: LedgerAxis;
  readonly range: Range;
  readonly level: SourceLevel;
  readonly warehouseLevel: WarehouseLevel;
  /** Believe a window that is empty against its history. */
  readonly acceptEmpty: boolean;
}

interface WindowReconciliation {
  readonly verdicts: readonly StoredVerdict[];
  /** Calls newly marked missing. */
  readonly markedMissing: number;
  readonly requests: number;
  /** Unexpected calls that were removed, over all warehouses. */
  readonly removed: number;
  /** Warehouses that could not be compared, with the code of the error. */
  readonly unreachable: Readonly<Record<string, string>>;
}

/**
 * Lists the window and confirms missing calls. Then compares, heals, judges and records each warehouse.
 * Warehouses come last, over all calls of the listing and the ledger, so that new calls are covered too.
 * @throws CallsyncError of the source or the store; a warehouse that is away is reported and gets no verdict.
 */
export const reconcileWindow = async (
  deps: ReconcileDeps,
  input: ReconcileWindowInput,
  options: RunOptions,
): Promise<WindowReconciliation> => {
  const { range, axis } = input;
  const before = await listWindowCalls(deps.store, input.column, range);
  const reading = await readChanged(
    deps,
    { axis, range, level: input.level, confirm: 'now', origin: 'reconcile' },
    options,
  );
  const { comparison: listing } = reading;
  const present = before.filter(({ sourceDeletedAt }) => sourceDeletedAt === null).map(({ callId }) => callId);
  const unlisted = present.filter((id) => !listing.calls.has(id));
  const suspicious =
    !input.acceptEmpty &&
    isSuspiciouslyEmpty({
      listed: reading.listed,
      known: present.length,
      gone: unlisted.length,
      history: await listedInEarlierWeeks(deps.store, { axis, ...range }),
    });
  const gone: GoneCalls = suspicious
    ? { marked: [], found: [], omitted: 0 }
    : await confirmGone(deps, { ...input, callIds: unlisted, listing }, options);
  const missingBefore = before.filter(
    ({ callId, sourceDeletedAt }) => sourceDeletedAt !== null && !listing.calls.has(callId),
  ).length;
  const after = await listWindowCalls(deps.store, input.column, range);
  // Also calls that were unknown and became tombstones when they were read just now.
  const excluded = await findTombstones(deps.store, [...listing.calls.keys()]);
  const window: ReconciledWindow = {
    input,
    reading,
    gone,
    goneCount: missingBefore + (suspicious ? unlisted.length : gone.marked.length),
    suspicious,
    excluded,
    callIds: [...new Set([...listing.calls.keys(), ...after.map(({ callId }) => callId)])],
  };

  const verdicts: StoredVerdict[] = [];
  const unreachable: Record<string, string> = {};
  let removed = 0;
  for (const target of deps.targets) {
    try {
      const judged = await reconcileWarehouse(deps, target, window, options);
      verdicts.push(judged.verdict);
      removed += judged.removed;
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      unreachable[target.warehouse.name] = error.code;
      deps.log('warehouse could not be reconciled', { warehouse: target.warehouse.name, code: error.code });
    }
  }
  return {
    verdicts,
    markedMissing: gone.marked.length,
    requests: reading.requests,
    removed,
    unreachable,
  };
};

/** Findings at the service and in the ledger, before any warehouse is compared. */
interface ReconciledWindow {
  readonly input: ReconcileWindowInput;
  readonly reading: ChangedReading;
  readonly gone: GoneCalls;
  readonly goneCount: number;
  readonly suspicious: boolean;
  /** Listed calls that are tombstones. */
  readonly excluded: ReadonlySet<string>;
  /** Calls that every warehouse must have. */
  readonly callIds: readonly string[];
}

const reconcileWarehouse = async (
  deps: ReconcileDeps,
  target: WarehouseTarget,
  window: ReconciledWindow,
  options: RunOptions,
): Promise<{ readonly verdict: StoredVerdict; readonly removed: number }> => {
  const { input, reading, gone } = window;
  const { result } = reading.comparison;
  const comparedSince = await readClock(deps.store);
  const found = await compareWarehouse(deps, target, {
    callIds: window.callIds,
    range: input.range,
    level: input.warehouseLevel,
    alive: options.alive,
  });
  // A call that was marked missing just now is sent again for that alone.
  const marked = new Set(gone.marked);
  const different = new Set([...found.different].filter((id) => !marked.has(id)));
  const comparison = { ...found, different };
  const touched = new Set([...reading.fresh, ...reading.changed, ...gone.marked, ...gone.found]);
  const unhealed = await healWarehouse(deps, target, {
    comparison,
    touched,
    level: input.warehouseLevel,
    alive: options.alive,
  });
  const removed = await removeUnexpected(deps, target, found.unexpected, options);
  const judgement = judgeWindow({
    ...reading,
    ...comparison,
    unexpected: found.unexpected.map(({ callId }) => callId),
    removed,
    listed: reading.comparison.calls.keys(),
    unhealed,
    omitted: gone.omitted,
    listingComplete: result.shown !== 'none' && result.problems.length === 0,
    suspicious: window.suspicious,
    excluded: window.excluded,
  });
  const wholeRecords = input.level === 'records' || (input.level === 'fields' && !canLeaveOut(deps.source.list.list));
  const verdict = await addVerdict(
    deps.store,
    {
      ...judgement,
      warehouse: target.warehouse.name,
      axis: input.axis,
      window_from: input.range.from,
      window_to: input.range.to,
      level: wholeRecords ? 'records' : input.level,
      warehouse_level: input.warehouseLevel,
      confirmed: result.shown,
      calls_listed: reading.listed,
      deleted: window.goneCount,
      compared_at: deps.now().getTime() * 1000,
      ledger_epoch: await deps.store.epoch(),
      flatten_version: flattenVersion,
      revisions_digest: await revisionsDigest(deps.store, input.column, input.range),
      compared_by: deps.version,
    },
    comparedSince,
  );
  return { verdict, removed: removed.size };
};
