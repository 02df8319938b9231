/** Rows of a warehouse whose call the ledger does not know: read from the service, or removed when it has none. */

import type { Observation } from '../../../schemas/observation.ts';
import { gatherParts } from '../../lib/pages.ts';
import { dayMicros as day } from '../../lib/timestamps.ts';
import { observeCalls } from '../../source/list/observe-call.ts';
import { readHeads } from '../../store/ledger/ledger.ts';
import { findSent } from '../../store/loads/loads.ts';
import { readCounters } from '../../store/status/counters.ts';
import { firstReadInstant } from '../../store/windows/windows.ts';
import type { CallGuard } from '../../warehouse/warehouse.ts';
import { type ReadDeps, unlessAway, type WarehouseTarget } from '../deps.ts';
import { ingest } from '../load/ingest.ts';
import { sendRowsAgain } from './compare-warehouse.ts';

/**
 * Removes the rows of calls that the service does not know. Rows of an earlier ledger, and of calls that this ledger
 * has lost, stay, because they may be the only copy. Rows of a later one are of another deployment that loads the same
 * warehouse. Without an endpoint for one call nothing is removed, because nobody can say that it is gone.
 * @returns ids that are no longer unexpected: removed here, or known to the ledger now.
 * @throws CallsyncError of the source, the store or the warehouse.
 */
export const removeUnexpected = async (
  deps: ReadDeps,
  target: WarehouseTarget,
  unexpected: readonly CallGuard[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  if (unexpected.length === 0 || deps.source.list.list.single_path === undefined) return new Set();
  const epoch = await deps.store.epoch();
  const guards = new Map(unexpected.filter((guard) => guard.epoch === epoch).map((guard) => [guard.callId, guard]));
  const { found, unknown: gone } = await askSingly(deps, [...guards.keys()], signal);
  const sent = await findSent(deps.store, target.warehouse.name, gone);
  const unknown = gone.filter((id) => !sent.has(id));
  if (unknown.length > 0) {
    await target.warehouse.proof.removeCalls(unknown.flatMap((id) => guards.get(id) ?? []));
    // A delivery may have brought such a call meanwhile: its rows, if they were among the removed, are written again.
    await sendRowsAgain(deps.store, target.warehouse.name, [...(await readHeads(deps.store, unknown)).keys()]);
  }
  deps.log('unexpected calls', { warehouse: target.warehouse.name, removed: unknown.length, found: found.length });
  return new Set([...found.map(({ callId }) => callId), ...unknown]);
};

/** Asks the service for calls one by one, and folds those that it has. @returns also the ids of those that it does not know */
export const askSingly = async (deps: ReadDeps, callIds: readonly string[], signal: AbortSignal) => {
  const found: Observation[] = [];
  const unknown: string[] = [];
  for await (const answers of observeCalls(deps.source.list, callIds, signal))
    for (const [callId, answer] of answers)
      if (answer.kind === 'observation') found.push(answer.observation);
      else if (answer.kind === 'unknown') unknown.push(callId);
  if (found.length > 0) await (await ingest(deps, { observations: found, origin: 'reconcile' })).load();
  return { found, unknown };
};

/** The earliest time that every warehouse can store. */
const earliest = Date.parse('0001-01-02T00:00:00Z') * 1000;
const latest = Date.parse('9999-12-30T00:00:00Z') * 1000;
const idsAtOnce = 5_000;
/** Calls whose child rows one run looks at, and runs within which it comes round, however many calls there are. */
const callsPerRun = 500_000;
const mostParts = 30;

/**
 * Handles rows that no window of call time covers: rows without a time, before the first reading, or after now. Also
 * removes child rows whose call has no row of the same time; known calls are written again.
 * Each day checks another part of the tables with many calls. A warehouse that is away keeps its rows for the next
 * round.
 * @param now microseconds.
 * @returns the number of affected calls, over all warehouses.
 * @throws CallsyncError of the store.
 */
export const removeStray = async (deps: ReadDeps, now: number, signal: AbortSignal): Promise<number> => {
  const begun = (await firstReadInstant(deps.store)) ?? now;
  const ranges = [{ from: earliest, to: begun }, { from: now + day, to: latest }, 'undated'] as const;
  const calls = (await readCounters(deps.store)).get('calls') ?? 0;
  const of = Math.max(1, Math.min(mostParts, Math.ceil(calls / callsPerRun)));
  const part = Math.floor(now / day) % of;
  let removed = 0;
  for (const target of deps.targets) {
    const { warehouse } = target;
    await unlessAway(deps, warehouse, 'stray rows could not be removed', async () => {
      for (const range of ranges)
        for await (const ids of gatherParts(warehouse.proof.listCallIds(range), idsAtOnce)) {
          const known = await readHeads(deps.store, ids);
          const callIds = ids.filter((id) => !known.has(id));
          if (callIds.length === 0) continue;
          const guards: CallGuard[] = [];
          for await (const guard of warehouse.proof.listGuards({ callIds })) guards.push(guard);
          removed += (await removeUnexpected(deps, target, guards, signal)).size;
        }
      const orphans: string[] = [];
      for await (const callId of warehouse.proof.listOrphans({ part, of })) orphans.push(callId);
      if (orphans.length === 0) return;
      await sendRowsAgain(deps.store, warehouse.name, [...(await readHeads(deps.store, orphans)).keys()]);
      await warehouse.proof.removeOrphans(orphans);
      removed += orphans.length;
      deps.log('orphan rows removed', { warehouse: warehouse.name, calls: orphans.length });
    });
  }
  return removed;
};
