/** Brings the analysts' schema up to the definition: creates what is missing, never drops anything. */
import type pg from 'pg';
import { inTransaction } from '../../postgres/connection.ts';
import { addColumns, createStatements, describeStatements, viewStatements } from './ddl.ts';
import { type Layout, tablesOf } from './layout.ts';

export const migrate = (pool: pg.Pool, purpose: string, layout: Layout): Promise<void> =>
  inTransaction(pool, purpose, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`callsync.warehouse.${layout.schema}`]);
    for (const statement of createStatements(layout)) await client.query(statement);
    const { rows } = await client.query<{ table_name: string; column_name: string }>(
      'SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = $1',
      [layout.schema],
    );
    for (const table of tablesOf(layout)) {
      const present = new Set(rows.filter((row) => row.table_name === table.name).map((row) => row.column_name));
      for (const statement of addColumns(layout, table, present)) await client.query(statement);
    }
    for (const statement of [...describeStatements(layout), ...viewStatements(layout)]) await client.query(statement);
  });
