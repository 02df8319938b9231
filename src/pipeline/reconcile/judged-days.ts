/** UTC days that were read, and their verdicts. */

import type { Range, ReconcileTarget } from '../../../schemas/orchestration.ts';
import { intersect, subtract } from '../../lib/intervals.ts';
import { beginOfDay, dayMicros as day } from '../../lib/timestamps.ts';
import { firstCallInstant } from '../../store/ledger/read-ledger.ts';
import { countPending } from '../../store/loads/loads.ts';
import type { Store } from '../../store/store.ts';
import {
  findUnproven,
  latestVerdicts,
  mostWaiting,
  type StoredVerdict,
  windowOf,
  withdrawnVerdicts,
} from '../../store/windows/verdicts.ts';
import { firstReadInstant, listReadRanges } from '../../store/windows/windows.ts';

export type JudgedDay = Awaited<ReturnType<typeof listDays>>[number];

/** The whole UTC days before `to` of which something was read, oldest first. @throws CallsyncError of the store. */
export const listDays = async (store: Store, input: { axis: string; warehouses: readonly string[]; to: number }) => {
  const begun = await firstReadInstant(store);
  if (begun === undefined) return [];
  const span = { from: beginOfDay(begun), to: beginOfDay(input.to) };
  if (span.from >= span.to) return [];
  const read = await listReadRanges(store, span);
  const unjudged = await listUnjudged(store, { ...input, range: span });
  const verdicts = (await latestVerdicts(store, span)).filter(({ axis }) => axis === input.axis);
  const days = [];
  for (let from = span.from; from < span.to; from += day) {
    const window = { from, to: from + day };
    if (intersect([window], read).length === 0) continue;
    const mine = verdicts.filter((one) => one.window_from < window.to && one.window_to > window.from);
    const rows = input.warehouses.map((name) =>
      Math.max(0, ...mine.filter((one) => one.warehouse === name && one.warehouse_level === 'rows').map(comparedAt)),
    );
    days.push({
      ...window,
      /** Every warehouse has a good verdict for all of it, given since the present ledger began. */
      judged: intersect([window], unjudged).length === 0,
      /** Microseconds, 0 = never: when a verdict was last given, and when the rows of every warehouse were last compared. */
      attemptedAt: Math.max(0, ...mine.map(comparedAt)),
      rowsAt: Math.min(...rows),
    });
  }
  return days;
};

/**
 * Joins days that were read and are before the first call: one comparison looks at them together.
 * @param longest microseconds @returns oldest first
 */
export const joinEmpty = async <W extends Range>(store: Store, days: readonly W[], longest: number): Promise<W[]> => {
  const sorted = [...days].sort((a, b) => a.from - b.from);
  const first = await firstCallInstant(store);
  if (first === null || sorted[0] === undefined) return sorted;
  const read = await listReadRanges(store, { from: sorted[0].from, to: first });
  const isEmpty = (day: Range): boolean => day.to <= first && subtract([day], read).length === 0;
  const joined: W[] = [];
  for (const one of sorted) {
    const last = joined.at(-1);
    if (last?.to === one.from && isEmpty(last) && isEmpty(one) && one.to - last.from <= longest)
      joined[joined.length - 1] = { ...last, to: one.to };
    else joined.push(one);
  }
  return joined;
};

/**
 * The windows whose proof was withdrawn and that no other verdict proves, oldest first, for warehouses that have nearly
 * all of their calls.
 */
export const listWithdrawn = async (store: Store, input: { axis: string; warehouses: readonly string[] }) => {
  const warehouses: string[] = [];
  for (const name of input.warehouses) if ((await countPending(store, name)) <= mostWaiting) warehouses.push(name);
  const levels = new Map<string, ReconcileTarget>();
  for (const one of await withdrawnVerdicts(store, input.axis, warehouses)) {
    const { from, to } = windowOf(one);
    if (one.warehouse_level === 'rows' || !levels.has(`${from} ${to}`))
      levels.set(`${from} ${to}`, { from, to, warehouseLevel: one.warehouse_level });
  }
  const windows = [...levels.values()].sort((a, b) => a.from - b.from);
  return await findUnjudged(store, { axis: input.axis, warehouses, windows });
};

/** Windows that not every warehouse has a good verdict for, given since the present ledger began. */
export const findUnjudged = async <W extends Range>(
  store: Store,
  input: { readonly axis: string; readonly warehouses: readonly string[]; readonly windows: readonly W[] },
): Promise<W[]> => {
  const { windows } = input;
  const range = { from: Math.min(...windows.map(({ from }) => from)), to: Math.max(...windows.map(({ to }) => to)) };
  const unjudged = windows.length === 0 ? [] : await listUnjudged(store, { ...input, range });
  return windows.filter((window) => intersect([window], unjudged).length > 0);
};

/** The parts of a range that not every warehouse has a good verdict for. */
const listUnjudged = async (store: Store, input: { axis: string; warehouses: readonly string[]; range: Range }) =>
  Object.values(await findUnproven(store, { ...input, level: {} })).flat();

const comparedAt = (verdict: StoredVerdict): number => verdict.compared_at;
