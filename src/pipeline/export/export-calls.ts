/** Writes calls of the ledger to files. The folder appears when it is complete. */
import { appendFileSync, closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Column, ColumnType, Row, WordArrays } from '../../../schemas/tables.ts';
import { callTables, wordsView } from '../../../schemas/tables.ts';
import { flattenCall } from '../../calls/flatten.ts';
import type { LedgerRow } from '../../calls/fold.ts';
import { toVcon } from '../../calls/vcon.ts';
import { writeFolder } from '../../lib/new-folder.ts';
import { iso } from '../../lib/timestamps.ts';
import { countUndated, readLedgerRange, readUndated } from '../../store/ledger/read-ledger.ts';
import type { Store } from '../../store/store.ts';

type VconUnits = Parameters<typeof toVcon>[1];

export const exportFormats = ['ndjson', 'parquet', 'vcon'] as const;

interface ExportInput {
  readonly format: (typeof exportFormats)[number];
  /** Does not exist, or is an empty folder. */
  readonly folder: string;
  /** Call time, `[from, to)` in microseconds since the epoch; infinite on both sides = also calls without a time. */
  readonly from: number;
  readonly to: number;
  readonly processedField: string;
  /** Units of the values that vCons have in seconds. */
  readonly units: VconUnits;
  /** Written to the manifest. */
  readonly version: string;
}

const progressEvery = 1_000;

/** @throws CallsyncError USAGE_FILE when the folder holds something, or cannot be made; DATABASE_… */
export const exportCalls = async (
  store: Store,
  input: ExportInput,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (calls: number) => void },
) =>
  await writeFolder(input.folder, async (partial) => {
    const writer = openWriter(partial, input);
    let calls = 0;
    const isWhole = input.to - input.from === Infinity;
    for (const rows of [readLedgerRange(store, input), ...(isWhole ? [readUndated(store)] : [])])
      for await (const row of rows) {
        signal.throwIfAborted();
        writer.write(row);
        calls += 1;
        if (calls % progressEvery === 0) onProgress(calls);
      }
    const files = writer.finish(calls);
    const undated = isWhole ? 0 : await countUndated(store);
    const [from, to] = [input.from, input.to].map((at) => (Number.isFinite(at) ? iso(at) : null));
    const left_out = undated === 0 ? {} : { 'calls without a time, which are in no range': undated };
    const made_by = `callsync ${input.version}`;
    const manifest = { format: input.format, from, to, calls, left_out, rows: files, made_by };
    await writeFile(join(partial, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    return { calls, undated, files };
  });

const openWriter = (folder: string, { format, processedField, units }: ExportInput): ExportWriter => {
  if (format === 'parquet') return createParquetWriter(folder, processedField);
  return format === 'ndjson' ? createLinesWriter(folder) : createFilesWriter(folder, units);
};

// Exports of documents, as `callsync import` reads them, and of vCons.

/** Takes calls one by one. Memory holds only calls that are not on disk yet. */
interface ExportWriter {
  write(row: LedgerRow): void;
  /** Ends every file; returns rows by file name. @param calls that were written */
  finish(calls: number): Readonly<Record<string, number>>;
}

const createLinesWriter = (folder: string): ExportWriter => {
  const name = 'calls.ndjson';
  const file = openSync(join(folder, name), 'wx', 0o600);
  return {
    write({ document }) {
      appendFileSync(file, `${JSON.stringify(document ?? {})}\n`);
    },
    finish(calls) {
      closeSync(file);
      return { [name]: calls };
    },
  };
};

/** JSON has no number beyond the range of a double, which a unit may lead to: it would be lost. */
const infinityAsText = (_name: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;

/** A file for each vCon, as its readers take it. */
const createFilesWriter = (folder: string, units: VconUnits): ExportWriter => ({
  write(row) {
    const vcon = toVcon(row, units);
    const text = JSON.stringify(vcon, infinityAsText);
    writeFileSync(join(folder, `${vcon.uuid}.vcon`), text, { flag: 'wx', mode: 0o600 });
  },
  finish: (calls) => ({ '*.vcon': calls }),
});

// A Parquet file for each table, with the rows that warehouses get; words as rows of their own.

type Cell = string | number | bigint | boolean | null;

/** Rows that wait for their row group. A reader must hold a whole row group in memory. */
const rowsPerGroup = 20_000;

/** By the older type alone, DuckDB and polars take a local time. */
const utcMicros = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } as const;

/** Types of Parquet. JSON and exact decimals stay text: readers differ in how they read the others. */
const elements: Readonly<Record<Exclude<ColumnType, 'words'>, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  decimal: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  timestamp: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS', logical_type: utcMicros },
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

/** One file whose row groups go to disk as they fill. */
const openTable = (folder: string, table: string, columns: readonly Column[]) => {
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
  let rows = 0;
  const toDisk = (): void => {
    writeSync(file, new Uint8Array(bytes.buffer, 0, bytes.index));
    // The count of bytes continues, because the offsets in the file come from it.
    bytes.index = 0;
  };
  const endGroup = (): void => {
    const columnData = typed.map((column, index) => ({ name: column.name, data: cells[index] ?? [] }));
    parquet.write({ columnData, rowGroupSize: rowsPerGroup });
    cells = typed.map(() => []);
    toDisk();
  };
  return {
    name,
    add(row: Row) {
      for (const [index, { name: column, type }] of typed.entries()) cells[index]?.push(toCell(type, row[column]));
      rows += 1;
      if (rows % rowsPerGroup === 0) endGroup();
    },
    finish() {
      endGroup();
      parquet.finish();
      // The library gives an empty list of row groups no type, and readers on arrow-rs refuse such a file: its type is struct.
      if (rows === 0) bytes.view.setUint8(Buffer.from(bytes.buffer).lastIndexOf('\x16\0\x19\0') + 3, 0x0c);
      toDisk();
      closeSync(file);
      return rows;
    },
  };
};

const createParquetWriter = (folder: string, processedField: string): ExportWriter => {
  const tables = callTables
    .filter(({ name }) => name !== 'documents')
    .map((table) => ({ table: table.name, file: openTable(folder, table.name, table.columns) }));
  const words = openTable(folder, wordsView.name, wordsView.columns);
  return {
    write(row) {
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
    finish: () =>
      Object.fromEntries([...tables.map(({ file }) => file), words].map((file) => [file.name, file.finish()])),
  };
};
