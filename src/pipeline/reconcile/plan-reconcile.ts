/** Which windows to reconcile, and reconciling a list of them. */
import {
  emptyReconcileTotals,
  type Range,
  type SourceLevel,
  type ReconcilePlan,
  type ReconcileRequest,
  type ReconcileTotals,
} from '../../../schemas/orchestration.ts';
import { terminal } from '../../errors.ts';
import { subtract } from '../../intervals.ts';
import { latestVerdicts } from '../../store/windows/verdicts.ts';
import { firstReadInstant } from '../../store/windows/windows.ts';
import { chooseAxis } from '../read/choose-axis.ts';
import { type ReconcileDeps, reconcileWindow } from './reconcile-window.ts';

export interface ReconcileSettings {
  /** Microseconds: how old a window must be, and how far back a run looks for windows without a verdict. */
  readonly age: number;
  readonly span: number;
  readonly level: SourceLevel;
}

const day = 86_400_000_000;

/**
 * Windows of a UTC day; one whole window where the list cannot be cut by time.
 * @throws CallsyncError RECONCILE_AXIS, or of the store.
 */
export const planReconcile = async (
  deps: ReconcileDeps,
  settings: ReconcileSettings,
  request: ReconcileRequest,
): Promise<ReconcilePlan> => {
  const chosen = chooseAxis(deps.source.list.list, deps.processedField);
  if (chosen === undefined) {
    throw terminal('RECONCILE_AXIS', 'The list has no axis of the call’s own time or of the end of processing.', {
      hint: 'Check the record_field of source.list.axes.',
    });
  }
  const { axis, column, cuttable } = chosen;
  const now = deps.now().getTime() * 1000;
  const begun = await firstReadInstant(deps.store);
  const to = request.range?.to ?? now - settings.age;
  // A backfill reads what was never read, unless the request names it.
  const from = request.range?.from ?? Math.max(now - settings.age - settings.span, begun ?? to);
  const windows: Range[] = [];
  if (!cuttable) {
    if (from < to) windows.push({ from, to });
  } else if (request.range === undefined) {
    for (let start = Math.ceil(from / day) * day; start + day <= to; start += day) {
      windows.push({ from: start, to: start + day });
    }
  } else {
    for (let start = from; start < to; start = Math.min(to, (Math.floor(start / day) + 1) * day)) {
      windows.push({ from: start, to: Math.min(to, (Math.floor(start / day) + 1) * day) });
    }
  }
  const open = request.force === true ? windows : await withoutVerdict(deps, axis, windows);
  return {
    axis,
    column,
    level: request.level ?? settings.level,
    acceptEmpty: request.acceptEmpty ?? false,
    windows: open.sort((a, b) => b.from - a.from),
  };
};

/** Windows that not every warehouse has a good verdict for, given since the present ledger began. */
const withoutVerdict = async (deps: ReconcileDeps, axis: string, windows: readonly Range[]): Promise<Range[]> => {
  if (windows.length === 0) return [];
  const span = { from: Math.min(...windows.map(({ from }) => from)), to: Math.max(...windows.map(({ to }) => to)) };
  const epoch = await deps.store.epoch();
  const good = (await latestVerdicts(deps.store, span)).filter(
    (verdict) =>
      verdict.axis === axis &&
      verdict.ledger_epoch === epoch &&
      (verdict.outcome === 'proven' || verdict.outcome === 'healed'),
  );
  return windows.filter((window) =>
    deps.targets.some(({ warehouse }) => {
      const mine = good.filter((verdict) => verdict.warehouse === warehouse.name);
      const covered = mine.map((verdict) => ({ from: verdict.window_from, to: verdict.window_to }));
      return subtract([window], covered).length > 0;
    }),
  );
};

/**
 * Reconciles windows one after the other until all are done or `maxSeconds` have passed; `done` says how many.
 * @throws CallsyncError of the source or the store; finished windows keep their verdicts.
 */
export const reconcileWindows = async (
  deps: ReconcileDeps,
  plan: ReconcilePlan,
  options: {
    readonly signal: AbortSignal;
    readonly maxSeconds: number;
    readonly resume?: { readonly done: number; readonly totals: ReconcileTotals } | undefined;
    readonly onProgress: (progress: { readonly done: number; readonly totals: ReconcileTotals }) => void;
  },
): Promise<{ readonly done: number; readonly totals: ReconcileTotals }> => {
  const startedAt = performance.now();
  let { done, totals } = options.resume ?? { done: 0, totals: emptyReconcileTotals };
  for (const range of plan.windows.slice(done)) {
    const { axis, column, level, acceptEmpty } = plan;
    const result = await reconcileWindow(
      deps,
      { axis, column, level, acceptEmpty, range },
      { signal: options.signal, alive: () => options.onProgress({ done, totals }) },
    );
    totals = addWindow(totals, result);
    done += 1;
    options.onProgress({ done, totals });
    if (performance.now() - startedAt > options.maxSeconds * 1000) break;
  }
  return { done, totals };
};

const addWindow = (totals: ReconcileTotals, result: Awaited<ReturnType<typeof reconcileWindow>>): ReconcileTotals => {
  const outcomes = new Set(result.verdicts.map(({ outcome }) => outcome));
  const worst = (['suspicious_empty', 'unproven', 'healed', 'proven'] as const).find((outcome) =>
    outcomes.has(outcome),
  );
  const sum = (name: 'missing' | 'different' | 'healed'): number =>
    result.verdicts.reduce((total, verdict) => total + verdict[name], 0);
  return {
    windows: totals.windows + 1,
    proven: totals.proven + Number(worst === 'proven'),
    healed: totals.healed + Number(worst === 'healed'),
    unproven: totals.unproven + Number(worst === 'unproven' || worst === undefined),
    suspicious: totals.suspicious + Number(worst === 'suspicious_empty'),
    missing: totals.missing + sum('missing'),
    different: totals.different + sum('different'),
    healedCalls: totals.healedCalls + sum('healed'),
    markedMissing: totals.markedMissing + result.markedMissing,
    requests: totals.requests + result.requests,
    unreachable: totals.unreachable + Object.keys(result.unreachable).length,
  };
};
