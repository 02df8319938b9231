/** Chooses the windows to reconcile, and reconciles a list of them. */

import type { SyncSettings } from '../../../schemas/config/sync.ts';
import type { Range, ReconcilePlan, ReconcileRequest, ReconcileTotals } from '../../../schemas/orchestration.ts';
import { addTotals, emptyReconcileTotals } from '../../../schemas/orchestration.ts';
import { CallsyncError, describeError } from '../../lib/errors.ts';
import { dayMicros as day } from '../../lib/timestamps.ts';
import { axisOf, isCuttable } from '../../source/list/list-query.ts';
import { lastLoads } from '../../store/ledger/read-ledger.ts';
import { noteComparison } from '../../store/windows/comparisons.ts';
import type { VerdictOutcome } from '../../store/windows/verdicts.ts';
import { firstReadInstant } from '../../store/windows/windows.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { type LongRun, namesOf } from '../deps.ts';
import { loadWaiting } from '../load/load-pending.ts';
import { chooseAxis, requireAxis } from '../read/choose-axis.ts';
import { findUnjudged, type JudgedDay, joinEmpty, listDays, listWithdrawn } from './judged-days.ts';
import { type ReconcileDeps, reconcileWindow } from './reconcile-window.ts';
import { removeStray } from './remove-unexpected.ts';

/** The rows of every judged day are compared at least this often. */
export const rowsWithin = 30 * day;

type ReconcileSettings = SyncSettings['reconcile'];
type ReconcileProgress = { readonly done: number; readonly totals: ReconcileTotals };

/**
 * The windows of one run, each a UTC day; one whole window where the list cannot be cut by time. A request for a range
 * takes that range; a request that names a level compares it also where a good verdict exists.
 * @throws CallsyncError RECONCILE_AXIS, or of the store.
 */
export const planReconcile = async (deps: ReconcileDeps, settings: ReconcileSettings, request: ReconcileRequest) => {
  const { axis, column, cuttable } = requireAxis(deps.source.list.list, deps.processedField);
  const now = deps.now().getTime() * 1000;
  const to = now - settings.age;
  const asked = endBy(request.range, now - settings.settle);
  const again = request.force === true || (asked !== undefined && request.warehouseLevel !== undefined);
  const plan = { axis, column, level: request.level ?? settings.level, acceptEmpty: request.acceptEmpty ?? false };
  const warehouseLevel = request.warehouseLevel ?? 'guards';
  const warehouses = namesOf(deps);
  const join = <W extends Range>(windows: readonly W[]) => joinEmpty(deps.store, windows, deps.windows.max);

  if (request.withdrawn === true) {
    const windows = settings.enabled ? await listWithdrawn(deps.store, { axis, warehouses }) : [];
    return { ...plan, loads: true, windows };
  }
  if (asked !== undefined || !cuttable) {
    const range = asked ?? { from: Math.max(to - settings.span, (await firstReadInstant(deps.store)) ?? to), to };
    const windows = cuttable ? cutDays(range) : [range].filter(({ from }) => from < range.to);
    const open = again ? windows : await findUnjudged(deps.store, { axis, warehouses, windows });
    const joined = await join(open);
    return { ...plan, windows: joined.reverse().map((window) => ({ ...window, warehouseLevel })) };
  }
  const listed = await listDays(deps.store, { axis, warehouses, to });
  const isOpen = (one: JudgedDay): boolean => again || !one.judged;
  const judged = listed.filter((one) => !isOpen(one));
  const days = { open: await join(listed.filter(isOpen)), judged: await join(judged) };
  const loadedAt = settings.rowsDays > 0 ? await lastLoads(deps.store, column, warehouses) : new Map<number, number>();
  return { ...plan, windows: chooseDays(days, settings, { to, loadedAt, again, openLevel: request.warehouseLevel }) };
};

/** A call that appears late would come into a window that is proven. */
const endBy = (range: Range | undefined, last: number) => range && { ...range, to: Math.min(range.to, last) };

/**
 * Open days first, the newest before those of the backlog, then judged days whose rows are due.
 * @param input.again all days count as open. @param input.loadedAt when something was last loaded into each day
 */
const chooseDays = (
  { open, judged }: Readonly<Record<'open' | 'judged', JudgedDay[]>>,
  settings: ReconcileSettings,
  input: {
    readonly to: number;
    readonly again: boolean;
    readonly loadedAt: ReadonlyMap<number, number>;
    readonly openLevel: ReconcileRequest['warehouseLevel'];
  },
): ReconcilePlan['windows'] => {
  const { to, again, loadedAt } = input;
  const isRecent = ({ from }: JudgedDay): boolean => from >= to - settings.span;
  // A day that could not be judged comes again after the others, so that it does not hold them up.
  const backlog = open
    .filter((one) => !isRecent(one))
    .sort((a, b) => a.attemptedAt - b.attemptedAt || a.from - b.from)
    .slice(0, again ? undefined : settings.backlogDays);
  // 0 = never. Otherwise each run compares the rows of at least so many days, longest ago first.
  const comparesRows = settings.rowsDays > 0;
  const isChanged = (one: JudgedDay): boolean => (loadedAt.get(one.from) ?? 0) > one.rowsAt;
  const inTurn = Math.max(settings.rowsDays, Math.ceil((judged.length * settings.interval) / rowsWithin));
  const sample = judged
    .sort((a, b) => a.rowsAt - b.rowsAt || a.from - b.from)
    .filter((one, at) => comparesRows && (at < inTurn || isChanged(one)));
  // A changed day was loaded since, and is compared as a whole.
  const openLevel = input.openLevel ?? (comparesRows ? 'rows' : 'guards');
  const atLevel = (of: readonly JudgedDay[], warehouseLevel: typeof openLevel) =>
    of.map(({ from, to }) => ({ from, to, warehouseLevel }));
  return [...atLevel([...open.filter(isRecent).reverse(), ...backlog], openLevel), ...atLevel(sample, 'rows')];
};

/** Number of windows whose proof was withdrawn and can be proven again now. */
export const countWithdrawn = async (deps: ReconcileDeps, settings: ReconcileSettings): Promise<number> =>
  chooseAxis(deps.source.list.list, deps.processedField) === undefined
    ? 0
    : (await planReconcile(deps, settings, { withdrawn: true })).windows.length;

/** Cuts a range at the borders of UTC days, newest first. */
const cutDays = (range: Range): Range[] => {
  const windows: Range[] = [];
  for (let start = range.from; start < range.to; ) {
    const end = Math.min(range.to, (Math.floor(start / day) + 1) * day);
    windows.unshift({ from: start, to: end });
    start = end;
  }
  return windows;
};

/** Days that were joined as empty have a verdict each where a call came since: it belongs to one of them. */
const cutUnlessEmpty = async (
  { source: { list } }: ReconcileDeps,
  axis: string,
  window: Range,
  signal: AbortSignal,
) => {
  if (window.to - window.from <= day || !isCuttable(axisOf(list.list, axis))) return [window];
  for await (const { count } of list.readPages({ window: { axis, ...window }, summary: true, signal }))
    return count > 0 ? cutDays(window) : [window];
  return [window];
};

/** After this many failed windows in a row, the service or the store counts as failing, not a window. */
const mostFailuresInRow = 3;

/**
 * Reconciles windows one after the other until all are done or `maxSeconds` have passed; `done` says how many. A window
 * that an error keeps from being judged is counted as failed and does not hold up the others.
 * @throws CallsyncError of the source or the store after several failures in a row; finished windows keep their verdicts.
 */
export const reconcileWindows = async (
  deps: ReconcileDeps,
  plan: ReconcilePlan,
  options: LongRun<ReconcileProgress> & { readonly maxSeconds: number },
): Promise<ReconcileProgress> => {
  const startedAt = performance.now();
  let { done, totals } = options.resume ?? { done: 0, totals: emptyReconcileTotals };
  let failures = 0;
  // Failures in a row are counted within a run.
  const isOver = (): boolean => failures === 0 && performance.now() - startedAt > options.maxSeconds * 1000;
  // Tombstones go before a comparison that would take their rows for wrong, and verdicts after it.
  if (plan.loads === true) await loadWaiting(deps, 'reconcile');
  for (const { warehouseLevel, ...window } of plan.windows.slice(done)) {
    options.signal.throwIfAborted();
    const { axis, column, level, acceptEmpty } = plan;
    try {
      for (const range of await cutUnlessEmpty(deps, axis, window, options.signal)) {
        const asked = { axis, column, level, warehouseLevel, acceptEmpty, range };
        const result = await reconcileWindow(deps, asked, options.signal);
        totals = addTotals(totals, totalsOf(result));
        await noteComparisons(deps, range, ({ name }) => result.unreachable[name]);
      }
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!options.signal.aborted) await noteComparisons(deps, window, () => error);
      const isRow = failures >= Math.min(mostFailuresInRow, plan.windows.length);
      if (!(error instanceof CallsyncError) || (isRow && !mayRest(plan, error))) throw error;
      deps.log('window could not be reconciled', { axis, ...window, code: error.code });
      totals = addTotals(totals, { ...emptyReconcileTotals, windows: 1, failed: 1 });
    }
    done += 1;
    options.onProgress({ done, totals });
    if (isOver()) break;
  }
  if (plan.loads === true) await loadWaiting(deps, 'reconcile');
  else if (done === plan.windows.length && plan.windows.some(({ warehouseLevel }) => warehouseLevel === 'rows')) {
    const removed = await removeStray(deps, deps.now().getTime() * 1000, options.signal);
    totals = { ...totals, removed: totals.removed + removed };
  }
  return { done, totals };
};

/** A terminal failure would end the comparison of withdrawn days, and the sweep would begin it again each minute. */
const mayRest = ({ loads }: ReconcilePlan, { kind }: CallsyncError): boolean => loads === true && kind === 'terminal';

/** For `callsync coverage --day`. A note that cannot be written changes no result: the store fails the next statement too. */
const noteComparisons = async (deps: ReconcileDeps, window: Range, errorOf: (warehouse: Warehouse) => unknown) => {
  for (const { warehouse } of deps.targets) {
    const error = errorOf(warehouse);
    const text = error === undefined ? undefined : describeError(error);
    await noteComparison(deps.store, warehouse.name, window, text).catch(() => undefined);
  }
};

/** A window counts as the worst of its verdicts. */
const totalsOf = (result: Awaited<ReturnType<typeof reconcileWindow>>): ReconcileTotals => {
  const has = (wanted: VerdictOutcome): boolean => result.verdicts.some(({ outcome }) => outcome === wanted);
  const worst = (['suspicious_empty', 'unproven', 'healed', 'proven'] as const).find(has) ?? 'unproven';
  const sum = (name: 'missing' | 'different' | 'healed'): number =>
    result.verdicts.reduce((total, verdict) => total + verdict[name], 0);
  return {
    ...emptyReconcileTotals,
    windows: 1,
    [worst === 'suspicious_empty' ? 'suspicious' : worst]: 1,
    missing: sum('missing'),
    different: sum('different'),
    healedCalls: sum('healed'),
    markedMissing: result.markedMissing,
    requests: result.requests,
    unreachable: Object.keys(result.unreachable).length,
    removed: result.removed,
  };
};
