/** Sets a schema back to what it was, as a restore from a backup does. */
import type pg from 'pg';

/**
 * Remembers every table of a schema. The returned function sets them back while others use them, row by row. With the
 * statements of the empty schema, it drops everything and makes it anew with its sequences, as `pg_restore --clean`
 * does.
 */
export const backUp = async (pool: pg.Pool, schema: string) => {
  const copy = `backup_${schema}_${Math.random().toString(36).slice(2)}`;
  const { rows } = await pool.query<{ name: string; columns: string }>(
    `SELECT quote_ident(table_name) AS name, string_agg(quote_ident(column_name), ', ') AS columns
       FROM information_schema.columns JOIN information_schema.tables USING (table_catalog, table_schema, table_name)
      WHERE table_schema = $1 AND table_type = 'BASE TABLE' AND is_generated = 'NEVER' AND table_name <> 'migrations'
      GROUP BY table_name`,
    [schema],
  );
  const sequences = await pool.query<{ name: string; value: string | null }>(
    'SELECT quote_ident(sequencename) AS name, last_value AS value FROM pg_sequences WHERE schemaname = $1',
    [schema],
  );
  await pool.query(
    `BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE SCHEMA ${copy};
     ${rows.map(({ name }) => `CREATE TABLE ${copy}.${name} AS TABLE ${schema}.${name};`).join(' ')} COMMIT`,
  );
  return async (createAnew?: () => Promise<unknown>): Promise<void> => {
    if (createAnew !== undefined) {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await createAnew();
    }
    // Without triggers: counters are set back with the tables that they count.
    const statements = [
      `LOCK TABLE ${rows.map(({ name }) => `${schema}.${name}`).join(', ')} IN ACCESS EXCLUSIVE MODE`,
      ...rows.flatMap(({ name, columns }) => [
        `DELETE FROM ${schema}.${name}`,
        `INSERT INTO ${schema}.${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${copy}.${name}`,
      ]),
      ...sequences.rows
        .filter(({ value }) => value !== null)
        .map(({ name, value }) => `SELECT setval('${schema}.${name}', ${value})`),
    ];
    await pool.query(`BEGIN; SET LOCAL session_replication_role = replica; ${statements.join('; ')}; COMMIT`);
  };
};
