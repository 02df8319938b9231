/** A Parquet file for each table, with the rows that warehouses get; words as rows of their own. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import {
  type Column,
  type ColumnType,
  callTables,
  type Row,
  type WordArrays,
  wordsView,
} from '../../../schemas/tables.ts';
import { flattenCall } from '../../calls/flatten.ts';
import type { ExportWriter } from './lines.ts';

type Cell = string | number | bigint | boolean | null;

/** Rows of a file that wait for their row group; a row group is what a reader holds at once, too. */
const rowsPerGroup = 20_000;

/** Types of Parquet. JSON and exact decimals stay text: readers differ in how they read the others. */
const elements: Readonly<Record<Exclude<ColumnType, 'words'>, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  decimal: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  timestamp: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
  float: { type: 'DOUBLE' },
  int: { type: 'INT64' },
  bool: { type: 'BOOLEAN' },
};

const toCell = (type: ColumnType, value: unknown): Cell => {
  if (value === null || value === undefined) return null;
  if (type === 'int' || type === 'timestamp') return BigInt(Math.trunc(Number(value)));
  if (type === 'float') return Number(value);
  return type === 'bool' ? value === true : String(value);
};

interface TableFile {
  readonly name: string;
  add(row: Row): void;
  finish(): number;
}

/** One file whose row groups go to disk as they fill. */
const openTable = (folder: string, table: string, columns: readonly Column[]): TableFile => {
  const name = `${table}.parquet`;
  const typed = columns.flatMap((column) => (column.type === 'words' ? [] : [{ ...column, type: column.type }]));
  const root: SchemaElement = { name: 'root', num_children: typed.length };
  const schema = typed.map(
    (column): SchemaElement => ({ ...elements[column.type], name: column.name, repetition_type: 'OPTIONAL' }),
  );
  const file = openSync(join(folder, name), 'wx', 0o600);
  const bytes = new ByteWriter();
  const parquet = new ParquetWriter({ writer: bytes, schema: [root, ...schema], createdBy: 'callsync' });
  let cells: Cell[][] = typed.map(() => []);
  let waiting = 0;
  let rows = 0;
  const toDisk = (): void => {
    writeSync(file, new Uint8Array(bytes.buffer, 0, bytes.index));
    // Its count of bytes since the start goes on, from which the file's offsets are taken.
    bytes.index = 0;
  };
  const endGroup = (): void => {
    if (waiting === 0) return;
    const columnData = typed.map((column, index) => ({ name: column.name, data: cells[index] ?? [] }));
    parquet.write({ columnData, rowGroupSize: rowsPerGroup });
    cells = typed.map(() => []);
    waiting = 0;
    toDisk();
  };
  return {
    name,
    add(row) {
      for (const [index, { name: column, type }] of typed.entries()) cells[index]?.push(toCell(type, row[column]));
      waiting += 1;
      rows += 1;
      if (waiting === rowsPerGroup) endGroup();
    },
    finish() {
      endGroup();
      parquet.finish();
      toDisk();
      closeSync(file);
      return rows;
    },
  };
};

export const createParquetWriter = (folder: string, processedField: string): ExportWriter => {
  const tables = callTables
    .filter(({ name }) => name !== 'documents')
    .map((table) => ({ table: table.name, file: openTable(folder, table.name, table.columns) }));
  const words = openTable(folder, wordsView.name, wordsView.columns);
  return {
    async write(row) {
      const { rows } = flattenCall(row, { processedField });
      for (const { table, file } of tables) for (const one of rows[table as keyof typeof rows]) file.add(one);
      for (const utterance of rows.utterances) {
        const { value, start, length, score } = utterance.words as WordArrays;
        for (const [at, word] of value.entries()) {
          const place = { word_index: at, value: word, start_offset: start[at], length: length[at], score: score[at] };
          words.add({ ...utterance, ...place });
        }
      }
    },
    finish: async () =>
      Object.fromEntries([...tables.map(({ file }) => file), words].map((file) => [file.name, file.finish()])),
  };
};
