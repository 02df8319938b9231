/** Guards of calls with the number of rows in each child table, for reconcile. */
import type pg from 'pg';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import type { CallGuard, GuardRange, IdRange, TablePart } from '../warehouse.ts';
import { childTables, type Layout, qualified } from './layout.ts';
import { streamRows } from './read.ts';

const conditions = {
  range: `c.call_timestamp >= ${toTimestamp('$1')} AND c.call_timestamp < ${toTimestamp('$2')}`,
  ids: 'c.call_id = ANY($1)',
};

/** In key order. Parameters: from and to in microseconds, or the ids. */
export const guardsSql = (layout: Layout, by: keyof typeof conditions): string => {
  const counts = childTables(layout).map(
    ({ name }) => `(SELECT count(*) FROM ${qualified(layout, name)} x WHERE x.call_id = c.call_id)::int AS "${name}"`,
  );
  return `SELECT c.call_id, ${toMicros('c.call_timestamp')} AS call_timestamp, c.ledger_epoch, c.revision, c.flatten_version,
       c.content_hash,
       ${counts.join(',\n       ')}
  FROM ${qualified(layout, 'calls')} c WHERE ${conditions[by]} ORDER BY c.call_id COLLATE "C"`;
};

export async function* listGuards(pool: pg.Pool, layout: Layout, range: GuardRange): AsyncIterable<CallGuard> {
  const byId = 'callIds' in range;
  const sql = guardsSql(layout, byId ? 'ids' : 'range');
  for await (const row of streamRows(pool, sql, byId ? [range.callIds] : [range.from, range.to])) {
    yield {
      callId: row.call_id as string,
      callTimestamp: row.call_timestamp as number | null,
      epoch: row.ledger_epoch as number,
      revision: row.revision as number,
      flattenVersion: row.flatten_version as number,
      contentHash: row.content_hash as string | null,
      childRows: Object.fromEntries(childTables(layout).map(({ name }) => [name, row[name] as number])),
    };
  }
}

const idConditions = { range: conditions.range, undated: 'c.call_timestamp IS NULL', all: 'true' };

/** Parameters of `range`: from and to in microseconds. */
export const callIdsSql = (layout: Layout, by: 'range' | 'undated' | 'all'): string =>
  `SELECT c.call_id FROM ${qualified(layout, 'calls')} c
 WHERE ${idConditions[by]} ORDER BY c.call_id COLLATE "C"`;

export async function* listCallIds(pool: pg.Pool, layout: Layout, range: IdRange): AsyncIterable<string> {
  const dated = typeof range !== 'string';
  const rows = streamRows(pool, callIdsSql(layout, dated ? 'range' : range), dated ? [range.from, range.to] : []);
  for await (const row of rows) yield row.call_id as string;
}

/** A child row `t` and the row `c` of its call. */
export const isSameCall = 'c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp';

/** Parameters: a part and their number. A part is a run of pages, because no index has the times of child rows. */
export const orphansSql = (layout: Layout): string => {
  const page = (name: string, part: string): string =>
    `(SELECT format('(%s,0)', ${part} * (pg_relation_size('${name}') / current_setting('block_size')::bigint / $2::bigint + 1))::tid)`;
  const selects = childTables(layout).map(
    ({ name }) => `SELECT t.call_id FROM ${qualified(layout, name)} t
   WHERE t.ctid >= ${page(qualified(layout, name), '$1::bigint')} AND t.ctid < ${page(qualified(layout, name), '($1::bigint + 1)')}
     AND NOT EXISTS (SELECT 1 FROM ${qualified(layout, 'calls')} c WHERE ${isSameCall})`,
  );
  return `SELECT call_id FROM (\n  ${selects.join('\n  UNION\n  ')}\n) orphans ORDER BY call_id COLLATE "C"`;
};

export async function* listOrphans(pool: pg.Pool, layout: Layout, { part, of }: TablePart): AsyncIterable<string> {
  for await (const row of streamRows(pool, orphansSql(layout), [part, of])) yield row.call_id as string;
}
