/** Rows of flatten as rows of a binary COPY. */
import type pg from 'pg';
import type { Column, ColumnType, Row, Table, WordArrays } from '../../../schemas/tables.ts';
import { BinaryCopyWriter } from '../../postgres/binary-copy.ts';
import { columnsOf, quote } from './layout.ts';

/** The rows of one table on their way into a COPY. */
export interface EncodedTable {
  readonly add: (row: Row) => void;
  /** Sends the added rows, if any, in one COPY. */
  readonly send: (client: pg.PoolClient) => Promise<void>;
}

/**
 * Computes the common parts of all loads of a table once; each call of the result begins an empty one. `target` is
 * the relation of COPY. The first row allocates memory.
 */
export const prepareTable = (target: string, table: Table): (() => EncodedTable) => {
  const write = rowWriter(table.columns, table.kind === 'log');
  const logical: Table = { ...table, kind: table.kind === 'call' ? 'child' : table.kind };
  const names = columnsOf(logical).map((column) => quote(column.name));
  const copyTarget = `${target} (${names.join(', ')})`;
  return () => {
    let writer: BinaryCopyWriter | undefined;
    return {
      add: (row) => {
        writer ??= new BinaryCopyWriter();
        write(writer, row);
      },
      send: async (client) => await writer?.send(client, copyTarget),
    };
  };
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
const rowWriter = (columns: readonly Column[], wide: boolean) => {
  const count = columns.reduce((sum, column) => sum + (column.type === 'words' ? 4 : 1), 0);
  const steps = columns.map(({ name, type }): readonly [string, Write | null] => {
    if (type === 'words') return [name, null];
    return [name, wide && type === 'int' ? (writer, value: number) => writer.int8(value) : writers[type]];
  });
  return (writer: BinaryCopyWriter, row: Row): void => {
    writer.row(count);
    for (const [name, step] of steps) {
      const value = row[name];
      if (step === null) writeWords(writer, value as WordArrays);
      else if (value === null || value === undefined) writer.null();
      else step(writer, value as never);
    }
  };
};
