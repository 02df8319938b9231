/** Whole tables, row by row. */
import type pg from 'pg';
import type { Row } from '../../../schemas/tables.ts';
import { postgresError } from '../../postgres/errors.ts';
import { toMicros } from '../../postgres/sql-time.ts';
import { digestedColumns } from '../digest.ts';
import type { DigestedName } from '../warehouse.ts';
import { type Layout, qualified, quote } from './layout.ts';

const pageRows = 2_000;
const purpose = 'warehouse';

/** Every row of a table, orphans included; values as flatten makes them. */
export const rowsSql = (layout: Layout, name: DigestedName): string => {
  const list = digestedColumns(name).map((column) => {
    const name = quote(column.name);
    const source = `t.${name}`;
    if (column.type === 'words') {
      return `json_build_object('value', t.word_values, 'start', t.word_starts, 'length', t.word_lengths, 'score', t.word_scores) AS ${name}`;
    }
    if (column.type === 'timestamp') return `${toMicros(source)} AS ${name}`;
    return column.type === 'json' || column.type === 'decimal' ? `${source}::text AS ${name}` : source;
  });
  return `SELECT ${list.join(', ')} FROM ${qualified(layout, name)} t`;
};

/** Streams through a cursor, so that memory holds one page. */
export async function* streamRows(
  pool: pg.Pool,
  sql: string,
  values: unknown[] = [],
): AsyncIterable<Record<string, unknown>> {
  const client = await pool.connect().catch((cause) => {
    throw postgresError(purpose, cause);
  });
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(`DECLARE page NO SCROLL CURSOR FOR ${sql}`, values);
    for (;;) {
      const { rows } = await client.query(`FETCH ${pageRows} FROM page`);
      yield* rows;
      if (rows.length < pageRows) break;
    }
  } catch (cause) {
    throw postgresError(purpose, cause);
  } finally {
    const rolledBack = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    );
    client.release(!rolledBack);
  }
}

export const readRows = (pool: pg.Pool, layout: Layout, name: DigestedName): AsyncIterable<Row> =>
  streamRows(pool, rowsSql(layout, name));
