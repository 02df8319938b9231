/** Walks over all calls, batch by batch, that mark as pending the calls that a warehouse lacks. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, sql } from '../../postgres/database.ts';
import { markLacking } from './loads.ts';

/** Calls that one batch looks at. */
const batchCalls = 400;
export const waitingMs = 50;
const underWay = sql`walk_after IS NOT NULL`;

/**
 * The next batch of a warehouse's walk; undefined if there is none. Folds that ran when the walk was requested end
 * first, so that the walk sees their calls.
 * `marked` = calls that became pending.
 * `state` = `waiting`: older transactions have not ended, or another worker is at this batch.
 */
export const walkBatch = async (store: Database, warehouse: string) => {
  if (!(await store.has`SELECT 1 FROM warehouses WHERE name = ${warehouse} AND ${underWay}`)) return undefined;
  return await store.transaction(async (tx) => {
    const [walk] = await tx.query<{ after: string; since: Date | null; rewrite: number | null }>`
        SELECT walk_after AS after, walk_since AS since, walk_rewrite AS rewrite FROM warehouses
        WHERE name = ${warehouse} AND ${underWay}
          AND (pg_snapshot_xmin(pg_current_snapshot()) > walk_xid OR walk_requested_at < now() - interval '10 minutes')
        FOR UPDATE SKIP LOCKED`;
    if (walk === undefined) return { marked: 0, state: 'waiting' };
    const ids = await tx.column<string>`
        SELECT call_id FROM ledger WHERE call_id > ${walk.after} ORDER BY call_id LIMIT ${batchCalls}`;
    const marked = await markLacking(tx, warehouse, ids, walk);
    if (ids.length === batchCalls) {
      await tx.query`UPDATE warehouses SET walk_after = ${ids.at(-1)} WHERE name = ${warehouse}`;
      return { marked, state: 'under way' };
    }
    await tx.query`UPDATE warehouses SET walk_after = NULL, walk_since = NULL, walk_rewrite = NULL WHERE name = ${warehouse}`;
    return { marked, state: 'done' };
  });
};

/** Longest wait of `beginWalk`. */
const beginMs = 1_000;

/**
 * The first batch of a walk, if one was requested and older transactions end in time. The walk of a new store ends with it:
 * there is nothing to look at, and its calls count as pending until somebody has looked.
 */
export const beginWalk = async (store: Database, warehouse: string): Promise<void> => {
  const until = performance.now() + beginMs;
  while ((await walkBatch(store, warehouse))?.state === 'waiting' && performance.now() < until) await delay(waitingMs);
};

/** Walks to the end, for a command that prints the number of calls. Returns how many calls became pending. */
export const walkToEnd = async (store: Database, warehouse: string): Promise<number> => {
  let marked = 0;
  for (;;) {
    const batch = await walkBatch(store, warehouse);
    if (batch?.state === 'waiting') await delay(waitingMs);
    marked += batch?.marked ?? 0;
    if (batch === undefined || batch.state === 'done') return marked;
  }
};
