/** Versions of the delivering agent (interface §9: the User-agent header of a delivery). */
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

/** Of deliveries that were let in, newest agent first. */
export const listAgents = async (db: Queryable): Promise<Agent[]> =>
  await db.query<Agent>(
    `SELECT agent, count(*) AS deliveries, min(received_at) AS "firstSeen", max(received_at) AS "lastSeen",
            min(received_at) > now() - interval '7 days' AND min(received_at) > min(min(received_at)) OVER () AS "isNew"
       FROM inbox WHERE outcome <> 'rejected' GROUP BY agent ORDER BY min(received_at) DESC`,
  );
