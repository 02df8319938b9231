/** How the logical tables lie in Postgres: names, types, and the writers of their values. */
import {
  type Column,
  type ColumnType,
  guardColumns,
  type Table,
  tables,
  type WordArrays,
  wordsView,
} from '../../../schemas/tables.ts';
import type { BinaryCopyWriter } from '../../postgres/binary-copy.ts';

export type WordLayout = 'arrays' | 'rows' | 'off';

export interface Layout {
  readonly schema: string;
  readonly words: WordLayout;
  readonly documents: boolean;
}

export interface PhysicalColumn {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

export const quote = (name: string): string => `"${name}"`;
export const qualified = (layout: Layout, name: string): string => `${quote(layout.schema)}.${quote(name)}`;

const sqlTypes: Readonly<Record<Exclude<ColumnType, 'words' | 'int'>, string>> = {
  text: 'text',
  timestamp: 'timestamptz',
  float: 'double precision',
  bool: 'boolean',
  json: 'jsonb',
  decimal: 'numeric',
};

const wordColumns: readonly PhysicalColumn[] = [
  { name: 'word_values', type: 'text[]', required: false, description: 'The words, in order.' },
  { name: 'word_starts', type: 'double precision[]', required: false, description: 'Start of each word, as sent.' },
  { name: 'word_lengths', type: 'double precision[]', required: false, description: 'Length of each word, as sent.' },
  { name: 'word_scores', type: 'double precision[]', required: false, description: 'Score of each word, as sent.' },
];

const physical = (column: Column, table: Table, words: WordLayout): readonly PhysicalColumn[] => {
  if (column.type === 'words') return words === 'arrays' ? wordColumns : [];
  const type = column.type === 'int' ? (table.kind === 'log' ? 'bigint' : 'integer') : sqlTypes[column.type];
  return [{ name: column.name, type, required: column.required === true, description: column.description }];
};

/** The tables that this layout has. */
export const tablesOf = (layout: Layout): readonly Table[] =>
  tables.filter((table) => table.name !== 'documents' || layout.documents);

/** Physical columns of a table; calls end with the guard. */
export const columnsOf = (table: Table, layout: Layout): readonly PhysicalColumn[] => {
  const logical = table.kind === 'call' ? [...table.columns, ...guardColumns] : table.columns;
  return logical.flatMap((column) => physical(column, table, layout.words));
};

/** The words table of layout `rows`: the columns of the view, stored. */
export const wordsTable: Table = {
  name: 'utterances',
  grain: 'call × utterance × word',
  description: 'One row per word of every utterance.',
  kind: 'child',
  key: ['call_id', 'utterance_index', 'word_index'],
  columns: wordsView.columns,
};

type Write = (writer: BinaryCopyWriter, value: never) => void;

const writers: Readonly<Record<Exclude<ColumnType, 'words'>, Write>> = {
  text: (writer, value: string) => writer.text(value),
  timestamp: (writer, value: number) => writer.timestamptz(value),
  float: (writer, value: number) => writer.float8(value),
  int: (writer, value: number) => writer.int4(value),
  bool: (writer, value: boolean) => writer.bool(value),
  json: (writer, value: string) => writer.jsonb(value),
  decimal: (writer, value: string) => writer.numeric(value),
};

const writeWords = (writer: BinaryCopyWriter, words: WordArrays): void => {
  writer.textArray(words.value);
  writer.float8Array(words.start);
  writer.float8Array(words.length);
  writer.float8Array(words.score);
};

/** A function that writes one logical row as one COPY row. Log tables' integers are eight bytes wide. */
export const rowWriter = (columns: readonly Column[], layout: Layout, wide = false) => {
  const count = columns.reduce(
    (sum, column) => sum + (column.type !== 'words' ? 1 : layout.words === 'arrays' ? 4 : 0),
    0,
  );
  const steps = columns.map((column) =>
    column.type === 'words'
      ? null
      : wide && column.type === 'int'
        ? (((writer: BinaryCopyWriter, value: number) => writer.int8(value)) as Write)
        : writers[column.type],
  );
  return (writer: BinaryCopyWriter, row: readonly unknown[]): void => {
    writer.row(count);
    for (let index = 0; index < steps.length; index += 1) {
      const step = steps[index] as Write | null;
      const value = row[index];
      if (step === null) {
        if (layout.words === 'arrays') writeWords(writer, value as WordArrays);
      } else if (value === null || value === undefined) writer.null();
      else step(writer, value as never);
    }
  };
};
