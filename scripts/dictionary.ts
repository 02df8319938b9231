/** The data dictionary of the warehouse tables as Markdown, from their definitions. */
import { type Column, columnsOf, type Table, tables, wordsView } from '../schemas/tables.ts';

const typeNames: Readonly<Record<Column['type'], { readonly postgres: string; readonly bigquery: string }>> = {
  text: { postgres: 'text', bigquery: 'STRING' },
  timestamp: { postgres: 'timestamptz', bigquery: 'TIMESTAMP' },
  float: { postgres: 'double precision', bigquery: 'FLOAT64' },
  int: { postgres: 'integer', bigquery: 'INT64' },
  bool: { postgres: 'boolean', bigquery: 'BOOL' },
  json: { postgres: 'jsonb', bigquery: 'JSON' },
  decimal: { postgres: 'numeric', bigquery: 'BIGNUMERIC' },
  words: {
    postgres: 'four parallel arrays word_values, word_starts, word_lengths, word_scores',
    bigquery: 'ARRAY&lt;STRUCT>',
  },
};

const columnRow = (column: Column): string =>
  `| ${column.name} | ${typeNames[column.type].postgres} | ${typeNames[column.type].bigquery} | ${column.required ? 'yes' : ''} | ${column.description} |`;

const section = (table: Table | typeof wordsView): string => {
  const { name, description, grain, key } = table;
  return [
    `## ${name}`,
    '',
    `${description} Grain: ${grain}. Key: ${key.join(', ')}.`,
    '',
    '| column | Postgres | BigQuery | required | meaning |',
    '|---|---|---|---|---|',
    ...columnsOf(table).map(columnRow),
    '',
  ].join('\n');
};

/** Every table and view that analysts see. */
export const renderDictionary = (): string =>
  [
    '# Warehouse tables',
    '',
    'Generated from schemas/tables.ts by `npm run generate`; the warehouse carries the same text as comments and descriptions.',
    'Log tables hold their integers as bigint in Postgres.',
    'Internal tables stand beside them: `tombstones` (erased calls, by keyed hash of their id; no load',
    'brings them back) and, in Postgres, `transcript_search` while there is a [search index](../guides/search-transcripts.md).',
    '',
    ...[...tables, wordsView].map(section),
  ].join('\n');
