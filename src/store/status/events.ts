/** The timeline: actions of operators, and events that the store noticed. */
import type { Queryable } from '../../postgres/database.ts';

interface TimelineEvent {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: string;
  /** In words; names and counts, no personal data. */
  readonly what: string;
  /** Name of the token that a user acted with; null without a user. */
  readonly actor: string | null;
}

/** @param event.what text without personal data */
export const recordEvent = async (db: Queryable, event: Omit<TimelineEvent, 'at'>): Promise<void> => {
  await db.query`INSERT INTO events (kind, what, actor) VALUES (${event.kind}, ${event.what}, ${event.actor})`;
};

/** Events of these kinds hold a number. The timeline shows their sum by day, so that frequent ones hide no other. */
const counted = ['spool', 'retention'] as const;

/** Adds to the number of a day; nothing for 0. */
export const recordCount = async (db: Queryable, kind: (typeof counted)[number], count: number): Promise<void> => {
  if (count > 0) await recordEvent(db, { kind, what: String(count), actor: null });
};

/** An event with the same content as the last event of its kind is not recorded. */
export const recordOnce = (db: Queryable, kind: string, what: string): Promise<unknown> =>
  db.query`INSERT INTO events (kind, what) SELECT ${kind}, ${what}
      WHERE ${what} IS DISTINCT FROM (SELECT what FROM events WHERE kind = ${kind} ORDER BY at DESC LIMIT 1)`;

/** Newest first. */
export const listEvents = async (db: Queryable, limit: number): Promise<TimelineEvent[]> =>
  await db.query<TimelineEvent>`SELECT (extract(epoch FROM at) * 1000)::float8 AS at, kind, what, actor FROM (
       (SELECT at, kind, what, actor FROM events WHERE kind <> ALL(${counted}) ORDER BY at DESC LIMIT ${limit})
       UNION ALL
       (SELECT max(at) AS at, kind, CASE kind WHEN 'spool' THEN 'Deliveries from the spool of a receiver, by day: '
               ELSE 'Parts of calls that retention removed, by day: ' END || sum(what::bigint), NULL
          FROM events WHERE kind = ANY(${counted}) GROUP BY kind, date_trunc('day', at, 'UTC') ORDER BY at DESC LIMIT ${limit})
       UNION ALL
       (SELECT min(first_at) AS at, 'key', 'Signing key ' || signing_key || ' verified its first delivery', NULL
          FROM delivery_senders WHERE signing_key IS NOT NULL GROUP BY signing_key ORDER BY at DESC LIMIT ${limit})
       UNION ALL
       (SELECT min(first_at) AS at, 'agent', 'First delivery by ' || coalesce(left(agent, 100), 'an agent without a name'), NULL
          FROM delivery_senders GROUP BY agent ORDER BY at DESC LIMIT ${limit})
       UNION ALL
       (SELECT first_seen, 'drift', 'Field ' || left(field, 100) || ' of ' || source || ' records: ' || kind, NULL
          FROM drift ORDER BY first_seen DESC LIMIT ${limit})
       UNION ALL
       (SELECT issued_at, 'ledger', 'Epoch ' || epoch || ': ' || reason, NULL FROM epochs ORDER BY issued_at DESC LIMIT ${limit})
       UNION ALL
       (SELECT seen_at, 'window', problem, NULL FROM window_problems WHERE resolved_at IS NULL ORDER BY seen_at DESC LIMIT ${limit})
       UNION ALL
       (SELECT updated_at, 'go-live', 'Went live', NULL FROM meta WHERE key = 'go_live' AND value ? 'schedules')
     ) AS timeline ORDER BY at DESC LIMIT ${limit}`;
