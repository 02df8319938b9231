/** The logical tables in PostgreSQL: names and types. */

import type { Column, ColumnType, TableDefinition } from '../../../schemas/tables.ts';
import { columnsOf as logicalColumnsOf, tables } from '../../../schemas/tables.ts';
import type { PostgresWarehouseConfig } from './config.ts';

export type Layout = Pick<PostgresWarehouseConfig, 'schema' | 'documents'>;

export type PhysicalColumn = Readonly<Record<'name' | 'type' | 'description', string>> & { readonly required: boolean };

export const quote = (name: string): string => `"${name}"`;
/** A table or view of the warehouse's schema, quoted for SQL. */
export const qualified = (layout: Layout, name: string): string => `${quote(layout.schema)}.${quote(name)}`;

const sqlTypes: Readonly<Record<Exclude<ColumnType, 'words' | 'int'>, string>> = {
  text: 'text',
  timestamp: 'timestamptz',
  float: 'double precision',
  bool: 'boolean',
  json: 'jsonb',
  decimal: 'numeric',
};

/** The words of an utterance. */
export const wordColumns: readonly PhysicalColumn[] = [
  {
    name: 'word_values',
    type: 'text[]',
    required: false,
    description: 'The words, in order; null where content split at blanks has them. The view words has all.',
  },
  { name: 'word_starts', type: 'double precision[]', required: false, description: 'Start of each word, as sent.' },
  { name: 'word_lengths', type: 'double precision[]', required: false, description: 'Length of each word, as sent.' },
  { name: 'word_scores', type: 'double precision[]', required: false, description: 'Score of each word, as sent.' },
];

const physical = (column: Column, table: TableDefinition): readonly PhysicalColumn[] => {
  if (column.type === 'words') return wordColumns;
  const isLarge = table.kind === 'log' || table.kind === 'state';
  const type = column.type === 'int' ? (isLarge ? 'bigint' : 'integer') : sqlTypes[column.type];
  return [{ name: column.name, type, required: column.required === true, description: column.description }];
};

/** The four arrays of an utterance, in the order of their columns. @param row a row of `utterances` in SQL */
export const wordArrays = (row: string): readonly string[] => [
  `coalesce(${row}.word_values, string_to_array(${row}.content, ' '))`,
  ...wordColumns.slice(1).map(({ name }) => `${row}.${name}`),
];

/** The tables that this layout has. */
export const tablesOf = (layout: Layout) => tables.filter((table) => table.name !== 'documents' || layout.documents);

/** Physical columns of a table; calls end with the guard. */
export const columnsOf = (table: TableDefinition): readonly PhysicalColumn[] =>
  logicalColumnsOf(table).flatMap((column) => physical(column, table));

export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
