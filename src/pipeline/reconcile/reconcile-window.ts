/** Reconciles one window: compares the API, the ledger and every warehouse, heals, and records a verdict per warehouse. */
import type { Range, SourceLevel } from '../../../schemas/orchestration.ts';
import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError } from '../../errors.ts';
import { canLeaveOut } from '../../source/list/list-query.ts';
import { type LedgerAxis, listWindowCalls, revisionsDigest } from '../../store/ledger/ledger-windows.ts';
import { requestRewrite } from '../../store/loads/loads.ts';
import { addVerdict, listedInEarlierWeeks, type StoredVerdict } from '../../store/windows/verdicts.ts';
import type { ReadDeps, RunOptions, WarehouseTarget } from '../deps.ts';
import { loadPendingBatch } from '../load/load-pending.ts';
import { readChanged } from '../read/read-changed.ts';
import { type Comparison, compareWarehouse } from './compare-warehouse.ts';
import { confirmGone, type GoneCalls } from './confirm-gone.ts';
import { judgeWindow } from './judge-window.ts';
import { isSuspiciouslyEmpty } from './suspicious.ts';

export interface ReconcileDeps extends ReadDeps {
  readonly now: () => Date;
  /** Version of callsync, recorded in verdicts. */
  readonly version: string;
}

export interface ReconcileWindowInput {
  readonly axis: string;
  readonly column: LedgerAxis;
  readonly range: Range;
  readonly level: SourceLevel;
  /** Believe a window that is empty against its history. */
  readonly acceptEmpty: boolean;
}

export interface WindowReconciliation {
  readonly verdicts: readonly StoredVerdict[];
  /** Calls that the ledger lacked, calls of which it held other values, and calls newly marked missing. */
  readonly fresh: number;
  readonly changed: number;
  readonly markedMissing: number;
  readonly requests: number;
  /** Warehouses that could not be compared, with the code of the error. */
  readonly unreachable: Readonly<Record<string, string>>;
}

/** Loads that one window may take; the sweep takes what is still pending then, and the verdict says unproven. */
const maxLoads = 100;

/**
 * Order: compare each warehouse with the ledger, list the window, confirm what is gone, heal, judge.
 * @throws CallsyncError of the source or the store; a warehouse that is away is reported and gets no verdict.
 */
export const reconcileWindow = async (
  deps: ReconcileDeps,
  input: ReconcileWindowInput,
  options: RunOptions,
): Promise<WindowReconciliation> => {
  const { range, axis } = input;
  const ledger = await listWindowCalls(deps.store, input.column, range);
  const unreachable: Record<string, string> = {};
  const attempt = async <T>(target: WarehouseTarget, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      unreachable[target.warehouse.name] = error.code;
      deps.log('warehouse could not be reconciled', { warehouse: target.warehouse.name, code: error.code });
      return undefined;
    }
  };

  const before = new Map<WarehouseTarget, Comparison>();
  for (const target of deps.targets) {
    const comparison = await attempt(target, () =>
      compareWarehouse(deps, target, {
        callIds: ledger.map(({ callId }) => callId),
        ...(input.column === 'call_timestamp' ? { range } : {}),
        alive: options.alive,
      }),
    );
    if (comparison !== undefined) before.set(target, comparison);
  }

  const reading = await readChanged(
    deps,
    { axis, range, level: input.level, confirm: 'now', origin: 'reconcile' },
    options,
  );
  const { comparison: listing } = reading;
  const present = ledger.filter(({ missingSince }) => missingSince === null).map(({ callId }) => callId);
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

  const missingBefore = ledger.filter(
    ({ callId, missingSince }) => missingSince !== null && !listing.calls.has(callId),
  ).length;
  const goneCount = missingBefore + (suspicious ? unlisted.length : gone.marked.length);

  const listedWhole = input.level === 'full' || (input.level === 'light' && !canLeaveOut(deps.source.list.list));
  const verdicts: StoredVerdict[] = [];
  for (const [target, comparison] of before) {
    const verdict = await attempt(target, async () => {
      const touched = new Set([...reading.fresh, ...reading.changed, ...gone.marked, ...gone.found]);
      const unhealed = await healWarehouse(deps, target, { comparison, touched, alive: options.alive });
      const judgement = judgeWindow({
        ...reading,
        ...comparison,
        listed: listing.calls.keys(),
        unhealed,
        omitted: gone.omitted,
        listingComplete: listing.result.confirmed !== 'none' && listing.result.problems.length === 0,
        suspicious,
      });
      return await addVerdict(deps.store, {
        ...judgement,
        warehouse: target.warehouse.name,
        axis,
        window_from: range.from,
        window_to: range.to,
        level: listedWhole ? 'full' : input.level,
        confirmed: listing.result.confirmed,
        calls_listed: reading.listed,
        gone: goneCount,
        compared_at: deps.now().getTime() * 1000,
        ledger_epoch: await deps.store.epoch(),
        flatten_version: flattenVersion,
        revisions_digest: await revisionsDigest(deps.store, input.column, range),
        compared_by: deps.version,
      });
    });
    if (verdict !== undefined) verdicts.push(verdict);
  }
  return {
    verdicts,
    fresh: reading.fresh.size,
    changed: reading.changed.size,
    markedMissing: gone.marked.length,
    requests: reading.requests,
    unreachable,
  };
};

/** Loads again what is missing or different, and what was folded just now; returns the ids that still differ. */
const healWarehouse = async (
  deps: ReconcileDeps,
  target: WarehouseTarget,
  work: { readonly comparison: Comparison; readonly touched: ReadonlySet<string>; readonly alive: () => void },
): Promise<ReadonlySet<string>> => {
  const { comparison, touched, alive } = work;
  const wrong = [...comparison.missing, ...comparison.different];
  const check = [...new Set([...wrong, ...touched])];
  if (check.length === 0) return new Set();
  await requestRewrite(deps.store, target.warehouse.name, wrong);
  for (let loads = 0; loads < maxLoads; loads += 1) {
    alive();
    if ((await loadPendingBatch(deps, target, { origin: 'reconcile' })) === undefined) break;
  }
  const after = await compareWarehouse(deps, target, { callIds: check, alive });
  return new Set([...after.missing, ...after.different]);
};
