/** Deletes expired rows in batches, so that tables stay small and no transaction waits long. */
import type { Config } from '../../schemas/config.ts';
import { dayMs as day } from '../lib/timestamps.ts';
import { type Queryable, raw, type Sql, sql } from '../postgres/database.ts';
import { isHeldSql } from './store.ts';
/** Milliseconds, as configured. */
export type RetentionRules = Pick<Config['store'], Extract<keyof Config['store'], `${string}_retention`>>;

/** Rows of one statement, and statements of one run for each table. The next run continues. */
const batchRows = 500;
const batchesPerRun = 20;
/** Number of loads of each warehouse that stay at any age. These loads distinguish a restored ledger from a current one. */
const keptLoads = 2_000;
const settledDays = 30;

type Attempt = <T>(kind: string, step: () => Promise<T>) => Promise<T | undefined>;

/**
 * Returns how many rows of each kind were deleted or emptied.
 * @param attempt runs the step of one kind; undefined = the step failed, and the other steps still run
 */
export const expireRows = async (db: Queryable, rules: RetentionRules, attempt: Attempt = (_, step) => step()) => {
  const counts: Record<string, number> = {};
  for (const [name, statement] of Object.entries(expiries(rules))) {
    const count = await attempt(name, () => expireKind(db, statement));
    if (count !== undefined) counts[name] = count;
  }
  return counts;
};

const expireKind = async (db: Queryable, statement: Sql): Promise<number> => {
  let count = 0;
  for (let batch = 0; batch < batchesPerRun; batch += 1) {
    const rows = await db.query`${statement}`;
    count += rows.length;
    if (rows.length < batchRows) break;
  }
  return count;
};

/** By age, not in lock order, so rows that others have locked are left to the next run. */
const unlessLocked = sql`FOR UPDATE SKIP LOCKED`;

/** SQL: `key` is that of a row that has expired. @param where with the order in which they go */
const isExpired = (key: string, table: string, where: Sql): Sql =>
  sql`${raw(key)} = ANY(ARRAY(SELECT ${raw(key)} FROM ${raw(table)} WHERE ${where} LIMIT ${batchRows} ${unlessLocked}))`;
const deleteExpired = (key: string, table: string, where: Sql): Sql =>
  sql`DELETE FROM ${raw(table)} WHERE ${isExpired(key, table, where)} RETURNING 1`;

/** Expires quarantine and frames. While there are holds, texts with held or unknown subjects stay. */
const heldByNone = sql`(NOT EXISTS (SELECT FROM held_keys) OR (subjects IS NOT NULL AND NOT ${isHeldSql('subjects')}))`;

/** Quarantine: a newer call arrived, or the call is erased. Any other record may be the only copy. */
const cameSince = sql`EXISTS (SELECT FROM ledger l
   WHERE l.call_id = quarantine.call_id AND (l.tombstone OR l.last_seen_at > quarantine.received_at))`;

/**
 * Deliveries, of which the counts by day stay. Rejected ones may still wait for a warehouse.
 * @param where condition on a row `i` of the inbox
 */
const deleteDeliveries = (where: Sql): Sql => sql`WITH gone AS (
    DELETE FROM inbox WHERE seq = ANY(ARRAY(
      SELECT seq FROM inbox i WHERE ${where} ORDER BY received_at LIMIT ${batchRows} ${unlessLocked}))
    RETURNING seq, received_at, outcome),
  counted AS (
    INSERT INTO expired_deliveries AS e (day, outcome, deliveries)
    SELECT date_trunc('day', received_at, 'UTC'), outcome, count(*) FROM gone GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (day, outcome) DO UPDATE SET deliveries = e.deliveries + excluded.deliveries),
  unqueued AS (DELETE FROM unloaded_deliveries u USING gone WHERE u.seq = gone.seq),
  unseen AS (DELETE FROM visible_deliveries v USING warehouses w, gone WHERE v.warehouse = w.name AND v.seq = gone.seq)
  SELECT 1 FROM gone`;

const ago = (ms: number): Sql => sql`now() - make_interval(secs => ${ms / 1000})`;

/** Statements that return one row for each that they expired. */
const expiries = (rules: RetentionRules): Record<string, Sql> => {
  const [ofInbox, ofDeliveries] = [ago(rules.inbox_retention), ago(rules.delivery_retention)];
  const settled = ago(settledDays * day);
  const openBefore = sql`state = 'open' AND received_at < ${ago(rules.quarantine_retention)}`;
  const bodies = sql`body IS NOT NULL AND outcome <> 'pending' AND received_at < ${ofInbox} ORDER BY received_at`;
  const dropped = sql`${heldByNone} AND state = 'dropped' AND settled_at < ${settled} AND body <> ''`;
  return {
    bodies: sql`UPDATE inbox SET body = NULL WHERE ${isExpired('seq', 'inbox', bodies)} RETURNING 1`,
    rejected: deleteDeliveries(sql`outcome = 'rejected' AND received_at < ${ofInbox}`),
    deliveries: deleteDeliveries(sql`received_at < ${ofDeliveries} AND outcome <> 'pending'
                           AND NOT EXISTS (SELECT FROM unloaded_deliveries u WHERE u.seq = i.seq)`),
    quarantine: deleteExpired('id', 'quarantine', sql`${heldByNone} AND ${openBefore} AND ${cameSince} ORDER BY id`),
    replayed: deleteExpired('id', 'quarantine', sql`${heldByNone} AND state = 'replayed' AND settled_at < ${settled}`),
    // The row stays, so that the same bytes stay dropped.
    dropped: sql`UPDATE quarantine SET body = '' WHERE ${isExpired('id', 'quarantine', dropped)} RETURNING 1`,
    websocketFrames: sql`DELETE FROM websocket_frames WHERE received_at < ${ago(rules.frame_retention)}
             AND ${isExpired('id', 'websocket_frames', sql`${heldByNone} ORDER BY id`)} RETURNING 1`,
    loads: sql`DELETE FROM loads WHERE load_id IN (
            SELECT l.load_id FROM warehouses w CROSS JOIN LATERAL (
              SELECT load_id FROM loads l
               WHERE l.warehouse = w.name AND l.state <> 'planned' AND l.created_at < ${ago(rules.load_retention)}
                 AND l.created_at < (SELECT created_at FROM loads k WHERE k.warehouse = w.name AND k.state = 'committed'
                                      ORDER BY committed_at DESC OFFSET ${keptLoads - 1} LIMIT 1)
               ORDER BY created_at LIMIT ${batchRows}) l LIMIT ${batchRows}) RETURNING 1`,
    // Not sooner: with these rows, a returning warehouse gets only its missing calls. Without them, callsync treats it as
    // never compared. The lock on its row makes a walk wait if it is configured again meanwhile.
    removed: sql`WITH removed AS MATERIALIZED (
            SELECT name FROM warehouses WHERE configured_at < least(${ofDeliveries}, now() - interval '7 days') ${unlessLocked}),
          calls AS (
            DELETE FROM warehouse_calls WHERE (warehouse, call_id) IN (
              SELECT name, c.call_id FROM removed CROSS JOIN LATERAL (
                SELECT call_id FROM warehouse_calls WHERE warehouse = name LIMIT ${batchRows}) c LIMIT ${batchRows}) RETURNING 1),
          loads AS (
            DELETE FROM loads WHERE load_id IN (
              SELECT l.load_id FROM removed CROSS JOIN LATERAL (
                SELECT load_id FROM loads WHERE warehouse = name LIMIT ${batchRows}) l LIMIT ${batchRows}) RETURNING 1),
          forgotten AS (UPDATE warehouses SET compared_at = NULL WHERE name IN (SELECT name FROM removed))
          SELECT 1 FROM calls UNION ALL SELECT 1 FROM loads`,
    events: deleteExpired('id', 'events', sql`at < ${ofDeliveries} ORDER BY at`),
    // The chain now begins behind the last deleted digest. The next verdict follows the newest one, which stays.
    verdicts: sql`WITH gone AS (
            DELETE FROM verdicts WHERE verdict_id IN (
              SELECT verdict_id FROM verdicts WHERE loaded AND compared_at < ${ago(rules.verdict_retention)}
                 AND verdict_id NOT IN (SELECT max(verdict_id) FROM verdicts GROUP BY warehouse)
               ORDER BY verdict_id LIMIT ${batchRows})
            RETURNING warehouse, verdict_id, digest),
          begins AS (
            INSERT INTO meta (key, value)
            SELECT DISTINCT ON (warehouse) 'verdicts_after:' || warehouse, to_jsonb(digest) FROM gone
             ORDER BY warehouse, verdict_id DESC
            ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now())
          SELECT 1 FROM gone`,
    problems: sql`DELETE FROM window_problems WHERE (axis, window_from, window_to) IN (
            SELECT axis, window_from, window_to FROM window_problems WHERE resolved_at < ${settled} LIMIT ${batchRows}) RETURNING 1`,
    rereads: deleteExpired('call_id', 'rereads', sql`requested_at < ${ofDeliveries}`),
  };
};
