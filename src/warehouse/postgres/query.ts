/** One query that only reads, as a person writes it or a check needs it. */
import type pg from 'pg';
import { inTransaction } from '../../postgres/database.ts';

/**
 * Rows of one statement in a transaction that only reads.
 * @throws CallsyncError DATABASE_…
 */
export const queryRows = (
  pool: pg.Pool,
  purpose: string,
  sql: string,
): Promise<Record<string, unknown>[]> =>
  inTransaction(pool, purpose, async (client) => {
    await client.query('SET TRANSACTION READ ONLY');
    // The extended protocol takes one statement: a second one could end the transaction that only reads.
    const query: pg.QueryArrayConfig & { readonly queryMode: 'extended' } = {
      text: sql,
      queryMode: 'extended',
      // As an object, a row would keep one of two columns of the same name.
      rowMode: 'array',
    };
    const { fields, rows } = await client.query<unknown[]>(query);
    const names = distinctNames(fields.map(({ name }) => name));
    return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
  });

/** Names for the columns of a result: what has the name of an earlier column gets a number, so that a row can be an object. */
const distinctNames = (names: readonly string[]): string[] => {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let number = 2;
    while (taken.has(`${name}_${number}`)) number += 1;
    const own = `${name}_${number}`;
    taken.add(own);
    return own;
  });
};
