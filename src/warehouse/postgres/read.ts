/** Reading back: counts, rows for digests, guards for reconcile. */
import type pg from 'pg';
import type { WordArrays } from '../../../schemas/tables.ts';
import { postgresError } from '../../postgres/connection.ts';
import { digestedColumns } from '../digest.ts';
import type { CallGuard, DigestedName, Row } from '../warehouse.ts';
import { type Layout, qualified, quote, tablesOf } from './layout.ts';

const pageRows = 2_000;
const purpose = 'warehouse';
const toMicros = (column: string): string => `(extract(epoch FROM ${column}) * 1000000)::bigint`;

/** Relations of this layout that have a digest. */
export const digestedNames = (layout: Layout): DigestedName[] => [
  ...tablesOf(layout)
    .map((table) => table.name)
    .filter((name) => name !== 'loads'),
  ...(layout.words === 'off' ? [] : (['words'] as const)),
];

/** Every row that stands, also one whose call does not; values as flatten makes them. */
export const rowsSql = (layout: Layout, name: DigestedName): string => {
  const list = digestedColumns(name).map((column) => {
    const source = `t.${quote(column.name)}`;
    if (column.type === 'words') {
      return layout.words === 'arrays'
        ? `json_build_object('value', t.word_values, 'start', t.word_starts, 'length', t.word_lengths, 'score', t.word_scores)`
        : 'NULL';
    }
    if (column.type === 'timestamp') return toMicros(source);
    return column.type === 'json' || column.type === 'decimal' ? `${source}::text` : source;
  });
  return `SELECT ${list.map((item, index) => `${item} AS c${index}`).join(', ')} FROM ${qualified(layout, name)} t`;
};

/** Streams through a cursor, so that memory holds a page. */
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

export async function* readRows(pool: pg.Pool, layout: Layout, name: DigestedName): AsyncIterable<Row> {
  const columns = digestedColumns(name);
  for await (const record of streamRows(pool, rowsSql(layout, name))) {
    yield columns.map((column, index) => {
      const value = record[`c${index}`];
      return column.type === 'words' ? (value as WordArrays | null) : value;
    });
  }
}

const childTables = (layout: Layout): string[] =>
  tablesOf(layout)
    .filter((table) => table.kind === 'child')
    .map((table) => table.name);

/** Guards of calls with the number of rows that their children really have. */
export const guardsSql = (layout: Layout, where: string): string => {
  const counts = childTables(layout).map(
    (name) => `(SELECT count(*) FROM ${qualified(layout, name)} x WHERE x.call_id = c.call_id)::int AS "${name}"`,
  );
  return `SELECT c.call_id, ${toMicros('c.call_timestamp')} AS call_timestamp, c.ledger_epoch, c.revision, c.flatten_version,
       ${counts.join(',\n       ')}
  FROM ${qualified(layout, 'calls')} c WHERE ${where} ORDER BY c.call_id COLLATE "C"`;
};

export const rangeCondition =
  'c.call_timestamp >= to_timestamp($1 / 1000000.0) AND c.call_timestamp < to_timestamp($2 / 1000000.0)';
export const idsCondition = 'c.call_id = ANY($1)';

export async function* readGuards(
  pool: pg.Pool,
  layout: Layout,
  range: { from: number; to: number } | { callIds: readonly string[] },
): AsyncIterable<CallGuard> {
  const byId = 'callIds' in range;
  const sql = guardsSql(layout, byId ? idsCondition : rangeCondition);
  for await (const row of streamRows(pool, sql, byId ? [range.callIds] : [range.from, range.to])) {
    yield {
      callId: row.call_id as string,
      callTimestamp: row.call_timestamp as number | null,
      epoch: row.ledger_epoch as number,
      revision: row.revision as number,
      flattenVersion: row.flatten_version as number,
      childRows: Object.fromEntries(childTables(layout).map((name) => [name, row[name] as number])),
    };
  }
}
