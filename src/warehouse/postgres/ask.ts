/** One query, which can only read. */
import type pg from 'pg';
import { inTransaction } from '../../postgres/database.ts';

/** Runs one statement that only reads. @throws CallsyncError of PostgreSQL, with what it says as the cause */
export const ask = async (pool: pg.Pool, purpose: string, sql: string): Promise<Record<string, unknown>[]> =>
  await inTransaction(pool, purpose, async (client) => {
    await client.query('SET TRANSACTION READ ONLY');
    // The extended protocol takes one statement: a second one could end the transaction that only reads.
    const query: pg.QueryConfig & { readonly queryMode: 'extended' } = { text: sql, queryMode: 'extended' };
    return (await client.query<Record<string, unknown>>(query)).rows;
  });
