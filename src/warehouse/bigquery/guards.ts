/** Guards of calls with the number of rows in each child table, for reconcile. */
import type { CallGuard, GuardRange, IdRange } from '../warehouse.ts';
import { callTablesOf, type Layout } from './ddl.ts';
import type { Queries } from './queries.ts';

const idsPerQuery = 5_000;

const childrenOf = (layout: Layout): readonly string[] =>
  callTablesOf(layout)
    .filter((table) => table.kind === 'child')
    .map((table) => table.name);

/** In key order. By range: literals, so that only the partitions of the range are read; by ids: parameter @ids. */
export const guardsQuery = (dataset: string, layout: Layout, range: GuardRange): string => {
  const within = (alias: string): string =>
    'callIds' in range
      ? `${alias}.call_id IN UNNEST(@ids)`
      : `${alias}.call_timestamp >= ${timestampLiteral(range.from)} AND ${alias}.call_timestamp < ${timestampLiteral(range.to)}`;
  const children = childrenOf(layout);
  return `SELECT
  c.call_id AS call_id,
  UNIX_MICROS(c.call_timestamp) AS call_timestamp,
  c.ledger_epoch AS ledger_epoch,
  c.revision AS revision,
  c.flatten_version AS flatten_version,
  c.content_hash AS content_hash,
  ${children.map((name) => `IFNULL(${name}_rows.n, 0) AS ${name}_rows`).join(',\n  ')}
FROM \`${dataset}.calls\` AS c
${children
  .map(
    (name) => `LEFT JOIN (
  SELECT t.call_id AS call_id, COUNT(*) AS n FROM \`${dataset}.${name}\` AS t WHERE ${within('t')} GROUP BY t.call_id
) AS ${name}_rows ON ${name}_rows.call_id = c.call_id`,
  )
  .join('\n')}
WHERE ${within('c')}
ORDER BY c.call_id`;
};

export async function* listGuards(
  queries: Queries,
  dataset: string,
  layout: Layout,
  range: GuardRange,
): AsyncIterable<CallGuard> {
  const children = childrenOf(layout);
  const sql = guardsQuery(dataset, layout, range);
  for (const ids of 'callIds' in range ? chunkIds(range.callIds) : [undefined]) {
    const query = ids === undefined ? { sql } : { sql, parameters: { ids }, types: { ids: 'ARRAY<STRING>' } };
    for await (const row of queries.stream(query)) {
      yield {
        callId: row.call_id as string,
        callTimestamp: row.call_timestamp as number | null,
        epoch: row.ledger_epoch as number,
        revision: row.revision as number,
        flattenVersion: row.flatten_version as number,
        contentHash: row.content_hash as string | null,
        childRows: Object.fromEntries(children.map((name) => [name, row[`${name}_rows`] as number])),
      };
    }
  }
}

export const callIdsQuery = (dataset: string, range: IdRange): string =>
  `SELECT DISTINCT c.call_id AS call_id FROM \`${dataset}.calls\` AS c WHERE ${idCondition(range)} ORDER BY call_id`;

const idCondition = (range: IdRange): string => {
  if (range === 'all') return 'TRUE';
  if (range === 'undated') return 'c.call_timestamp IS NULL';
  return `c.call_timestamp >= ${timestampLiteral(range.from)} AND c.call_timestamp < ${timestampLiteral(range.to)}`;
};

export async function* listCallIds(queries: Queries, dataset: string, range: IdRange): AsyncIterable<string> {
  for await (const row of queries.stream({ sql: callIdsQuery(dataset, range) })) yield row.call_id as string;
}

/** Id and time of a call as one text: rows of a call have the same wherever they are. */
export const rowKey = (alias: string): string =>
  `CONCAT(IFNULL(CAST(UNIX_MICROS(${alias}.call_timestamp) AS STRING), '-'), ' ', ${alias}.call_id)`;

export const orphansQuery = (dataset: string, layout: Layout): string => {
  const selects = childrenOf(layout).map(
    (name) => `SELECT t.call_id AS call_id FROM \`${dataset}.${name}\` AS t
WHERE ${rowKey('t')} NOT IN (SELECT ${rowKey('c')} FROM \`${dataset}.calls\` AS c)`,
  );
  return `${selects.join('\nUNION DISTINCT\n')}\nORDER BY call_id`;
};

export async function* listOrphans(
  queries: Queries,
  dataset: string,
  layout: Layout,
  part: number,
): AsyncIterable<string> {
  if (part > 0) return;
  for await (const row of queries.stream({ sql: orphansQuery(dataset, layout) })) yield row.call_id as string;
}

/** The ids in the order in which BigQuery returns them, as many at a time as one query takes. */
export function* chunkIds(callIds: readonly string[]): Iterable<readonly string[]> {
  const ids = [...callIds].sort(byteOrder);
  for (let start = 0; start < ids.length; start += idsPerQuery) yield ids.slice(start, start + idsPerQuery);
}

/** BigQuery orders text by its UTF-8 bytes. */
const byteOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const timestampLiteral = (micros: number): string => {
  const date = new Date(Math.floor(micros / 1000)).toISOString();
  const fraction = String(((micros % 1_000_000) + 1_000_000) % 1_000_000).padStart(6, '0');
  return `TIMESTAMP '${date.slice(0, 10)} ${date.slice(11, 19)}.${fraction}+00'`;
};
