/** Figures of the operational store for `callsync status`. */

import type { Queryable } from '../../postgres/database.ts';
import { readCounters } from '../counters.ts';
import { givenUpRereads } from '../delivery/inbox.ts';
import { countPending } from '../loads/pending.ts';
import { readSyncState, type SyncState } from '../windows/sync-state.ts';
import { openProblems, type WindowProblem } from '../windows/windows.ts';

export interface StoreSummary {
  readonly epoch: number;
  readonly calls: number;
  readonly tombstones: number;
  /** Legal holds. */
  readonly holds: number;
  readonly inbox: {
    readonly pending: number;
    readonly oldestPendingSeconds: number | null;
    readonly outcomes: Record<string, number>;
  };
  readonly warehouses: Record<
    string,
    { readonly pending: number; readonly lastLoadAt: string | null; readonly lastError: string | null }
  >;
  readonly quarantineOpen: number;
  /** Calls to be read again from the API because of repeated webhook bodies. */
  readonly rereadsWaiting: number;
  /** Of earlier ones, those for which no answer could be had: not where the list was looked, or it cannot be asked. */
  readonly rereadsUnanswered: number;
  readonly watermarks: Record<string, string>;
  /** Null while continuous sync has never begun. */
  readonly sync: Pick<SyncState, 'lagSeconds' | 'lastError' | 'failedAt'> | null;
  readonly windowsRead: number;
  readonly problems: readonly WindowProblem[];
}

/**
 * One reading for `status`, the status page and notifications. It reads counters, so its cost does not grow with the number
 * of calls.
 */
export const summarizeStore = async (db: Queryable): Promise<StoreSummary> => {
  // Watermarks first: what is read up to them is in the ledger by then, and so in the pending counts that follow.
  const watermarks = await db.query<{ name: string; watermark: Date }>('SELECT name, watermark FROM watermarks');
  const counters = await readCounters(db);
  const [row] = await db.query<{
    epoch: number;
    holds: number;
    oldest: number | null;
    rereads: number;
    unanswered: number;
    windows: number;
  }>(
    `SELECT (SELECT coalesce(max(epoch), 0) FROM epochs)::int AS epoch,
            (SELECT count(*) FROM holds) AS holds,
            (SELECT extract(epoch FROM now() - received_at)::float8 FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT 1) AS oldest,
            (SELECT count(*) FROM rereads WHERE NOT (${givenUpRereads})) AS rereads,
            (SELECT count(*) FROM rereads WHERE ${givenUpRereads}) AS unanswered,
            (SELECT count(*) FROM windows) AS windows`,
  );
  const warehouses = await db.query<{
    warehouse: string;
    last: Date | null;
    error: string | null;
  }>(
    `SELECT w.name AS warehouse,
            (SELECT committed_at FROM loads l WHERE l.warehouse = w.name AND state = 'committed' ORDER BY committed_at DESC LIMIT 1) AS last,
            (SELECT error FROM loads l WHERE l.warehouse = w.name ORDER BY created_at DESC LIMIT 1) AS error
       FROM warehouses w ORDER BY w.name`,
  );
  const pending = new Map<string, number>();
  for (const { warehouse } of warehouses) pending.set(warehouse, await countPending(db, warehouse));
  const sync = await readSyncState(db);
  return {
    epoch: row?.epoch ?? 0,
    calls: counters.get('calls') ?? 0,
    tombstones: counters.get('tombstones') ?? 0,
    holds: row?.holds ?? 0,
    inbox: {
      pending: counters.get('deliveries:pending') ?? 0,
      oldestPendingSeconds: row?.oldest ?? null,
      outcomes: Object.fromEntries(
        [...counters]
          .filter(([name, value]) => name.startsWith('deliveries:') && value !== 0)
          .map(([name, value]) => [name.slice('deliveries:'.length), value]),
      ),
    },
    warehouses: Object.fromEntries(
      warehouses.map(({ warehouse, last, error }) => [
        warehouse,
        { pending: pending.get(warehouse) ?? 0, lastLoadAt: last?.toISOString() ?? null, lastError: error },
      ]),
    ),
    quarantineOpen: counters.get('quarantine:open') ?? 0,
    rereadsWaiting: row?.rereads ?? 0,
    rereadsUnanswered: row?.unanswered ?? 0,
    watermarks: Object.fromEntries(watermarks.map(({ name, watermark }) => [name, watermark.toISOString()])),
    sync:
      sync === undefined ? null : { lagSeconds: sync.lagSeconds, lastError: sync.lastError, failedAt: sync.failedAt },
    windowsRead: row?.windows ?? 0,
    problems: await openProblems(db),
  };
};
