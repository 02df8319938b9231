/** The request limit that all workers and processes share: one row, one row lock a request, the server's clock. */

import type { Queryable } from '../postgres/database.ts';
import { toMicros } from '../postgres/sql-time.ts';

interface SharedSlotRules {
  /** Name of the limit: one for each service and source address. */
  readonly name: string;
  readonly requests: number;
  /** Part of the requests for live work, until live work has sent none for `liveIdleMs`. */
  readonly live: number;
  readonly liveIdleMs: number;
  /** Length of the rolling window with its margin, in milliseconds. */
  readonly spanMs: number;
}

const clock = toMicros('clock_timestamp()');
const statementClock = toMicros('statement_timestamp()');
const granted = `CASE WHEN last_is_live THEN live_slots[cardinality(live_slots)] ELSE slots[cardinality(slots)] END`;

/** Time of the next slot of a window, even if it is past. */
const freeAt = (slots: string, size: string): string =>
  `greatest(blocked_until, coalesce(${slots}[cardinality(${slots}) - ${size}::int + 1], 0) + $3::bigint, coalesce(${slots}[cardinality(${slots})], 0))`;

const append = (slots: string, size: string): string =>
  `${slots}[greatest(cardinality(${slots}) - ${size}::int + 2, 1):] || greatest(${clock}, ${freeAt(slots, size)})`;

/**
 * Hands out slots over table request_limits. Callers queue on the row's lock, so they are served in turn; the slot's
 * time is returned as a wait from the server's now. Two rolling windows together make the limit: one for all work, one
 * for live work, which takes the earlier slot of both.
 */
export const createSharedSlots = (db: Queryable, rules: SharedSlotRules) => {
  const spanMicros = Math.round(rules.spanMs * 1000);
  const ensure = `INSERT INTO request_limits (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`;
  // Nothing here may ask the clock twice: both windows must see the same choice.
  const useLive = `($4::int > 0 AND ($5 OR ${statementClock} > live_at + $6::bigint)
                    AND ${freeAt('live_slots', '$4')} < ${freeAt('slots', '$2')})`;
  const grantSlot = `
    UPDATE request_limits
    SET slots = CASE WHEN ${useLive} THEN slots ELSE ${append('slots', '$2')} END,
        live_slots = CASE WHEN ${useLive} THEN ${append('live_slots', '$4')} ELSE live_slots END,
        last_is_live = ${useLive},
        live_at = CASE WHEN $5 THEN ${statementClock} ELSE live_at END
    WHERE name = $1
    RETURNING ${granted} - ${clock} AS wait_micros, ${granted} AS slot`;
  const blockSlots = `
    UPDATE request_limits SET blocked_until = greatest(blocked_until, ${clock} + $2::bigint) WHERE name = $1`;
  const deferSlot = `
    UPDATE request_limits
    SET slots = array_replace(slots, $2::bigint, $2::bigint + $3::bigint),
        live_slots = array_replace(live_slots, $2::bigint, $2::bigint + $3::bigint)
    WHERE name = $1`;

  return {
    /** The slot: milliseconds from now until it, and its time on the server's clock in milliseconds. */
    grant: async (live: boolean) => {
      const values = [rules.name, rules.requests - rules.live, spanMicros, rules.live, live, rules.liveIdleMs * 1000];
      let [row] = await db.query<{ wait_micros: number; slot: number }>(grantSlot, values);
      if (row === undefined) {
        await db.query(ensure, [rules.name]);
        [row] = await db.query(grantSlot, values);
      }
      return { waitMs: Math.max(0, (row?.wait_micros ?? 0) / 1000), at: (row?.slot ?? 0) / 1000 };
    },
    block: async (ms: number) => {
      await db.query(ensure, [rules.name]);
      await db.query(blockSlots, [rules.name, Math.round(ms * 1000)]);
    },
    /** Whether a block that came after the grant covers the slot at `at`. */
    isBlocked: async (at: number) => {
      const sql = 'SELECT blocked_until > $2::bigint AS blocked FROM request_limits WHERE name = $1';
      const [row] = await db.query<{ blocked: boolean }>(sql, [rules.name, Math.round(at * 1000)]);
      return row?.blocked === true;
    },
    /** The slot at `at` was used `ms` later. */
    defer: async (at: number, ms: number) => {
      await db.query(deferSlot, [rules.name, Math.round(at * 1000), Math.round(ms * 1000)]);
    },
  };
};
