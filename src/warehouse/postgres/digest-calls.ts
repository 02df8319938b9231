/** Digests of calls, computed by PostgreSQL. */
import type pg from 'pg';
import type { Column } from '../../../schemas/tables.ts';
import { toMicros } from '../../postgres/sql-time.ts';
import { collectDigests, type DigestDialect, type DigestPart, digestSql, partOf } from '../call-digest.ts';
import type { CallDigest } from '../warehouse.ts';
import { type Layout, qualified, quote } from './layout.ts';
import { streamRows } from './read.ts';

/** Parameter: the ids. */
export const digestCallsSql = (layout: Layout): string =>
  digestSql({ ...dialect, relation: (table) => qualified(layout, table) }, layout.documents);

export const digestCalls = (pool: pg.Pool, layout: Layout, callIds: readonly string[]): AsyncIterable<CallDigest> => {
  const readParts = async function* (): AsyncIterable<DigestPart> {
    for await (const row of streamRows(pool, digestCallsSql(layout), [callIds])) yield partOf(row);
  };
  return collectDigests(readParts(), layout.documents);
};

const field = (text: string): string => `coalesce(octet_length(${text}) || ':' || ${text}, '-')`;
const floatText = (value: string): string =>
  `CASE WHEN ${value} = 0 THEN '0' ELSE ltrim(to_char(${value}, '9.9999999999999999EEEE')) END`;

const wordsText = `coalesce((SELECT string_agg(${field('w.value')} || ${['w.start', 'w.length', 'w.score']
  .map((value) => field(floatText(value)))
  .join(' || ')}, '' ORDER BY w.position)
    FROM unnest(r.word_values, r.word_starts, r.word_lengths, r.word_scores)
         WITH ORDINALITY AS w(value, start, length, score, position)), '')`;

const textOf = ({ name, type }: Column): string => {
  const value = `r.${quote(name)}`;
  if (type === 'words') return wordsText;
  if (type === 'float') return floatText(value);
  if (type === 'timestamp') return `${toMicros(value)}::text`;
  return type === 'decimal' ? `trim_scale(${value})::text` : `${value}::text`;
};

const dialect: Omit<DigestDialect, 'relation'> = {
  text: textOf,
  json: ({ name }) => `r.${quote(name)}::text`,
  field,
  sha256: (text) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`,
  concat: (texts) => texts.join(' || '),
  joinHashes: `string_agg(g.h, '' ORDER BY g.h COLLATE "C")`,
  none: 'NULL::text',
  where: 'r.call_id = ANY($1)',
  orderBy: 'call_id COLLATE "C"',
};
