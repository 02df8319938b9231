/** The request limit that all workers and processes share: one row, one row lock a request, the server's clock. */

import { spacingOf } from '../lib/timing.ts';
import { type Queryable, type Sql, sql, toMicros } from '../postgres/database.ts';

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
const granted = sql`CASE WHEN last_is_live THEN live_slots[cardinality(live_slots)] ELSE slots[cardinality(slots)] END`;

/**
 * Hands out slots over table request_limits. Callers queue on the row's lock, so they are served in turn; the slot's
 * time is returned as a wait from the server's now. Two rolling windows together make the limit: one for all work, one
 * for live work, which takes the earlier slot of both.
 */
export const createSharedSlots = (db: Queryable, rules: SharedSlotRules) => {
  const spanMicros = Math.round(rules.spanMs * 1000);
  const { name } = rules;
  const spacing = spacingOf(rules.spanMs / rules.requests);
  const distance = sql`greatest(0, spacing_ms - (${statementClock} - widened_at) / 1000.0 / ${spacing.shrinkMs}::float8)`;
  const spaced = sql`CASE WHEN ${distance} > 0 THEN greatest(coalesce(slots[cardinality(slots)], 0), coalesce(live_slots[cardinality(live_slots)], 0))
                          + (1000 * ${distance})::bigint ELSE 0 END`;
  const ensure = () => db.query`INSERT INTO request_limits (name) VALUES (${name}) ON CONFLICT (name) DO NOTHING`;
  /** Time of the next slot of a window, even if it is past. */
  const freeAt = (slots: Sql, size: number): Sql =>
    sql`greatest(blocked_until, coalesce(${slots}[cardinality(${slots}) - ${size}::int + 1], 0) + ${spanMicros}::bigint,
                 coalesce(${slots}[cardinality(${slots})], 0), ${spaced})`;
  const append = (slots: Sql, size: number): Sql =>
    sql`${slots}[greatest(cardinality(${slots}) - ${size}::int + 2, 1):] || greatest(${clock}, ${freeAt(slots, size)})`;
  const all = [sql`slots`, rules.requests - rules.live] as const;
  const live = [sql`live_slots`, rules.live] as const;
  const grantSlot = (isLive: boolean) => {
    // Nothing here may ask the clock twice: both windows must see the same choice.
    const useLive = sql`(${rules.live}::int > 0 AND (${isLive}::boolean OR ${statementClock} > live_at + ${rules.liveIdleMs * 1000}::bigint)
                    AND ${freeAt(...live)} < ${freeAt(...all)})`;
    return db.row<{ wait_micros: number; slot: number } | undefined>`
      UPDATE request_limits
         SET slots = CASE WHEN ${useLive} THEN slots ELSE ${append(...all)} END,
             live_slots = CASE WHEN ${useLive} THEN ${append(...live)} ELSE live_slots END,
             last_is_live = ${useLive}, live_at = CASE WHEN ${isLive}::boolean THEN ${statementClock} ELSE live_at END
       WHERE name = ${name} RETURNING ${granted} - ${clock} AS wait_micros, ${granted} AS slot`;
  };

  return {
    /** The slot: milliseconds from now until it, and its time on the server's clock in milliseconds. */
    grant: async (isLive: boolean) => {
      const row = (await grantSlot(isLive)) ?? (await ensure().then(() => grantSlot(isLive)));
      return { waitMs: Math.max(0, (row?.wait_micros ?? 0) / 1000), at: (row?.slot ?? 0) / 1000 };
    },
    block: async (ms: number, after = Number.MAX_SAFE_INTEGER / 1000) => {
      await ensure();
      const isFirst = sql`widened_at <= ${Math.round(after * 1000)}::bigint`;
      await db.query`UPDATE request_limits SET blocked_until = greatest(blocked_until, ${clock} + ${Math.round(ms * 1000)}::bigint),
             spacing_ms = CASE WHEN ${isFirst} THEN least(${spacing.most}::float8, greatest(${spacing.first}::float8, ${distance} * ${spacing.wider}::float8))
                               ELSE spacing_ms END,
             widened_at = CASE WHEN ${isFirst} THEN ${clock} ELSE widened_at END WHERE name = ${name}`;
    },
    /** Whether a block that came after the grant covers the slot at `at`. */
    isBlocked: (at: number) =>
      db.has`SELECT FROM request_limits WHERE name = ${name} AND blocked_until > ${Math.round(at * 1000)}::bigint`,
    /** The slot at `at` was used `ms` later. */
    defer: async (at: number, ms: number) => {
      const [slot, used] = [Math.round(at * 1000), Math.round(at * 1000) + Math.round(ms * 1000)];
      await db.query`UPDATE request_limits SET slots = array_replace(slots, ${slot}::bigint, ${used}::bigint),
                            live_slots = array_replace(live_slots, ${slot}::bigint, ${used}::bigint) WHERE name = ${name}`;
    },
  };
};
