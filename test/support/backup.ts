/** Sets the tables of a schema back to what they were, as a restore from a backup does. */
import type pg from 'pg';

/** Remembers every table of a schema; returns what sets them back. */
export const backUp = async (pool: pg.Pool, schema: string): Promise<() => Promise<void>> => {
  const copy = `backup_${schema}_${Math.random().toString(36).slice(2)}`;
  const { rows } = await pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = $1 AND table_type = 'BASE TABLE'`,
    [schema],
  );
  const names = rows.map(({ name }) => name).filter((name) => name !== 'migrations');
  await pool.query(
    `CREATE SCHEMA ${copy}; ${names.map((name) => `CREATE TABLE ${copy}.${name} AS TABLE ${schema}.${name}`).join('; ')}`,
  );
  return async () => {
    // Without triggers: counters are set back with the tables that they count.
    const statements = names.flatMap((name) => [
      `DELETE FROM ${schema}.${name}`,
      `INSERT INTO ${schema}.${name} OVERRIDING SYSTEM VALUE SELECT * FROM ${copy}.${name}`,
    ]);
    await pool.query(`BEGIN; SET LOCAL session_replication_role = replica; ${statements.join('; ')}; COMMIT`);
  };
};
