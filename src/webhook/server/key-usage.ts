/** Which signing keys verified deliveries, and when last: the evidence on which an old one is retired. */
import type pg from 'pg';

export interface KeyUsage {
  /** Name of the key; null = unsigned. */
  readonly key: string | null;
  readonly deliveries: number;
  readonly firstUsed: Date;
  readonly lastUsed: Date;
}

/** From the inbox of the operational store, last used first. A configured key that is not listed was never used. */
export const webhookKeyUsage = async (pool: pg.Pool, schema = 'callsync'): Promise<readonly KeyUsage[]> => {
  const { rows } = await pool.query<KeyUsage>(
    `SELECT signing_key AS key, count(*)::float8 AS deliveries,
            min(received_at) AS "firstUsed", max(received_at) AS "lastUsed"
     FROM ${schema}.inbox
     WHERE outcome <> 'rejected'
     GROUP BY signing_key
     ORDER BY max(received_at) DESC`,
  );
  return rows;
};
