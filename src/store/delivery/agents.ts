/** Who delivered: versions of the delivering agent (interface §9: the User-agent header), and the keys that verified. */
import type { Queryable } from '../../postgres/database.ts';

export interface Agent {
  /** Null = a delivery without the header. */
  readonly agent: string | null;
  readonly deliveries: number;
  readonly firstSeen: Date;
  readonly lastSeen: Date;
  /** It was first seen within a week, after others. */
  readonly isNew: boolean;
}

export interface KeyUsage {
  /** Name of the key; null = unsigned. */
  readonly key: string | null;
  readonly deliveries: number;
  readonly firstUsed: Date;
  readonly lastUsed: Date;
}

/** Those that were merged, and the first of those that wait. */
const senders = `SELECT * FROM delivery_senders UNION ALL (
  SELECT agent, signing_key, 1, received_at, received_at FROM inbox WHERE outcome = 'pending' ORDER BY seq LIMIT 5000)`;

/** Of deliveries that were let in, newest agent first. */
export const listAgents = async (db: Queryable): Promise<Agent[]> =>
  await db.query<Agent>(
    `SELECT agent, sum(deliveries)::bigint AS deliveries, min(first_at) AS "firstSeen", max(last_at) AS "lastSeen",
            min(first_at) > now() - interval '7 days' AND min(first_at) > min(min(first_at)) OVER () AS "isNew"
       FROM (${senders}) s GROUP BY agent ORDER BY min(first_at) DESC`,
  );

/**
 * Which signing keys verified deliveries, and when last: the evidence on which an old one is retired. Last used
 * first; a configured key that is not listed was never used.
 */
export const listKeyUsage = async (db: Queryable): Promise<KeyUsage[]> =>
  await db.query<KeyUsage>(
    `SELECT signing_key AS key, sum(deliveries)::bigint AS deliveries, min(first_at) AS "firstUsed", max(last_at) AS "lastUsed"
       FROM (${senders}) s GROUP BY signing_key ORDER BY max(last_at) DESC`,
  );
