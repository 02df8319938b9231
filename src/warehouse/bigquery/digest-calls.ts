/** Digests of calls, computed by BigQuery. */
import type { Column } from '../../../schemas/tables.ts';
import { collectDigests, type DigestDialect, type DigestPart, digestSql, partOf } from '../call-digest.ts';
import type { CallDigest } from '../warehouse.ts';
import type { Layout } from './ddl.ts';
import { chunkIds } from './guards.ts';
import { coverDates, inPartitions } from './partitions.ts';
import type { Queries } from './queries.ts';

/** Parameter @ids. With `dates`, only their partitions and rows without a timestamp are read. */
export const digestCallsQuery = (
  dataset: string,
  { documents }: Pick<Layout, 'documents'>,
  dates?: Iterable<string | null>,
): string => {
  const within = dates === undefined ? '' : `${inPartitions('r.call_timestamp', coverDates(dates))} AND `;
  const relation = (table: string): string => `\`${dataset}.${table}\``;
  return digestSql({ ...dialect, relation, where: `${within}r.call_id IN UNNEST(@ids)` }, documents);
};

export const digestCalls = (
  queries: Queries,
  dataset: string,
  layout: Pick<Layout, 'documents'>,
  callIds: readonly string[],
  dates?: Iterable<string | null>,
): AsyncIterable<CallDigest> => {
  const sql = digestCallsQuery(dataset, layout, dates);
  const readParts = async function* (): AsyncIterable<DigestPart> {
    for (const ids of chunkIds(callIds)) {
      const query = { sql, parameters: { ids }, types: { ids: 'ARRAY<STRING>' } };
      for await (const row of queries.stream(query)) yield partOf(row);
    }
  };
  return collectDigests(readParts(), layout.documents);
};

const field = (text: string): string => `IFNULL(CONCAT(CAST(BYTE_LENGTH(${text}) AS STRING), ':', ${text}), '-')`;
const floatText = (value: string): string => `IF(${value} = 0, '0', FORMAT('%.16e', ${value}))`;

const wordsText = `IFNULL((SELECT STRING_AGG(CONCAT(${field('w.value')}, ${['w.start', 'w.length', 'w.score']
  .map((value) => field(floatText(value)))
  .join(', ')}), '' ORDER BY position)
    FROM UNNEST(r.words) AS w WITH OFFSET AS position), '')`;

const textOf = ({ name, type }: Column): string => {
  const value = `r.${name}`;
  if (type === 'words') return wordsText;
  if (type === 'text') return value;
  if (type === 'float') return floatText(value);
  return `CAST(${type === 'timestamp' ? `UNIX_MICROS(${value})` : value} AS STRING)`;
};

const dialect: Omit<DigestDialect, 'relation' | 'where'> = {
  text: textOf,
  json: ({ name }) => `TO_JSON_STRING(r.${name})`,
  field,
  sha256: (text) => `TO_HEX(SHA256(${text}))`,
  concat: (texts) => `CONCAT(${texts.join(', ')})`,
  joinHashes: `STRING_AGG(g.h, '' ORDER BY g.h)`,
  none: 'CAST(NULL AS STRING)',
  orderBy: 'call_id',
};
