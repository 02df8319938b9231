/** The request limit that all workers and processes share: one row, one row lock a request, the server's clock. */

import type { Queryable } from '../postgres/database.ts';
import { toMicros } from '../postgres/sql-time.ts';

export interface SharedSlotRules {
  /** Name of the limit: one for each service and source address. */
  readonly name: string;
  readonly requests: number;
  /** Length of the rolling window with its margin, in milliseconds. */
  readonly spanMs: number;
}

export interface SharedSlots {
  /** The slot: milliseconds from now until it, and its time on the server's clock in milliseconds. */
  grant(): Promise<{ readonly waitMs: number; readonly at: number }>;
  block(ms: number): Promise<void>;
  /** The slot at `at` was used `ms` later. */
  defer(at: number, ms: number): Promise<void>;
}

const clock = toMicros('clock_timestamp()');

/**
 * Hands out slots of a rolling window over table request_limits. Callers queue on the row's lock, so they are served
 * in turn; the slot's time is returned as a wait from the server's now.
 */
export const createSharedSlots = (db: Queryable, rules: SharedSlotRules): SharedSlots => {
  const spanMicros = Math.round(rules.spanMs * 1000);
  const ensure = `INSERT INTO callsync.request_limits (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`;
  const grantSlot = `
    UPDATE callsync.request_limits
    SET slots = slots[greatest(cardinality(slots) - $2::int + 2, 1):] || greatest(
          ${clock},
          blocked_until,
          coalesce(slots[cardinality(slots) - $2::int + 1], 0) + $3::bigint,
          coalesce(slots[cardinality(slots)], 0))
    WHERE name = $1
    RETURNING slots[cardinality(slots)] - ${clock} AS wait_micros, slots[cardinality(slots)] AS slot`;
  const blockSlots = `
    UPDATE callsync.request_limits SET blocked_until = greatest(blocked_until, ${clock} + $2::bigint) WHERE name = $1`;
  const deferSlot = `
    UPDATE callsync.request_limits SET slots = array_replace(slots, $2::bigint, $2::bigint + $3::bigint) WHERE name = $1`;

  return {
    grant: async () => {
      const values = [rules.name, rules.requests, spanMicros];
      let [row] = await db.query<{ wait_micros: number; slot: number }>(grantSlot, values);
      if (row === undefined) {
        await db.query(ensure, [rules.name]);
        [row] = await db.query(grantSlot, values);
      }
      return { waitMs: Math.max(0, (row?.wait_micros ?? 0) / 1000), at: (row?.slot ?? 0) / 1000 };
    },
    block: async (ms) => {
      await db.query(ensure, [rules.name]);
      await db.query(blockSlots, [rules.name, Math.round(ms * 1000)]);
    },
    defer: async (at, ms) => {
      await db.query(deferSlot, [rules.name, Math.round(at * 1000), Math.round(ms * 1000)]);
    },
  };
};
