/** A query that a person wrote. */
import type pg from 'pg';
import { terminal } from '../../errors.ts';
import { inTransaction } from '../../postgres/database.ts';

/** Runs one statement, which can only read. @throws CallsyncError QUERY_REFUSED for what it does not understand or may not do */
export const ask = async (pool: pg.Pool, purpose: string, sql: string): Promise<Record<string, unknown>[]> =>
  await inTransaction(pool, purpose, async (client) => {
    await client.query('SET TRANSACTION READ ONLY');
    // The extended protocol takes one statement: a second one could end the transaction that only reads.
    const query: pg.QueryConfig & { readonly queryMode: 'extended' } = { text: sql, queryMode: 'extended' };
    const { rows } = await client.query<Record<string, unknown>>(query).catch(explain);
    return rows;
  });

/** Syntax, names and rights: the server's words repeat the query, and no value of a row. */
const refusals = /^(42|0A|25006)/;

const explain = (cause: unknown): never => {
  const { code = '', message = '' } = cause as { readonly code?: string; readonly message?: string };
  if (!refusals.test(code)) throw cause;
  throw terminal('QUERY_REFUSED', `PostgreSQL refuses the query: ${message}.`, {
    hint: 'Send one query that only reads; docs/tables.md and docs/marts.md have every column.',
    cause,
  });
};
