/** A batch as newline-delimited JSON for the staging table: one line per call, tombstone and log row. */
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type Column, type Row, type Table, tableOf, type WordArrays } from '../../../schemas/tables.ts';
import { canonicalDecimal, contentHash } from '../digest.ts';
import type { CallLoad, FlatRows, LoadBatch, TombstoneLoad } from '../warehouse.ts';
import { callTablesOf, type Layout, logTables } from './ddl.ts';
import { isMoved } from './partitions.ts';

export interface EncodedBatch {
  readonly media: readonly Buffer[];
  readonly rows: number;
  /** Before compression, about: characters. */
  readonly bytes: number;
}

/** With `compress`, gzip at its fastest: upload time is what it saves. */
export const encodeBatch = async (batch: LoadBatch, layout: Layout, compress: boolean): Promise<EncodedBatch> => {
  const chunks: Buffer[] = [];
  let pending = '';
  let rows = 0;
  let bytes = 0;
  const add = (line: string): void => {
    rows += 1;
    bytes += line.length;
    pending += `${line}\n`;
    if (pending.length > 1 << 20) {
      chunks.push(Buffer.from(pending));
      pending = '';
    }
  };
  const tables = callTablesOf(layout).map((table) => encoderOf(table, ['call_id', 'call_timestamp']));
  const changes = encoderOf(tableOf('changes'), ['call_id', 'call_timestamp']);
  for (const call of batch.calls) add(callLine(rows, call, batch.keyOf(call.callId), { tables, changes }));
  for (const tombstone of batch.tombstones) add(tombstoneLine(rows, tombstone));
  for (const table of logTables) {
    const encode = encoderOf(table, []);
    for (const row of batch.logs[table.name as keyof LoadBatch['logs']] ?? []) {
      add(`{"n":${rows},"kind":"log","${table.name}":[${encode.row(row)}]}`);
    }
  }
  chunks.push(Buffer.from(pending));
  return { media: compress ? await compressChunks(chunks) : chunks, rows, bytes };
};

const compressChunks = async (chunks: readonly Buffer[]): Promise<Buffer[]> => {
  const compressed: Buffer[] = [];
  for await (const chunk of Readable.from(chunks).pipe(createGzip({ level: 1 }))) compressed.push(chunk as Buffer);
  return compressed;
};

interface TableEncoder {
  readonly name: string;
  row(row: Row): string;
}

const encoderOf = (table: Table, skip: readonly string[]): TableEncoder => {
  const columns = table.columns
    .filter(({ name }) => !skip.includes(name))
    .map((column) => ({ column, head: `"${column.name}":` }));
  return {
    name: table.name,
    row(row) {
      let line = '';
      for (const { column, head } of columns) {
        const value = row[column.name];
        if (value === null || value === undefined) continue;
        line += `${line === '' ? '' : ','}${head}${encodeValue(column, value)}`;
      }
      return `{${line}}`;
    },
  };
};

const encodeValue = (column: Column, value: unknown): string => {
  if (column.type === 'words') return encodeWords(value as WordArrays);
  // An emulator stores decimals as text: equal numbers get one text.
  if (column.type === 'decimal') return JSON.stringify(canonicalDecimal(String(value)));
  if (typeof value === 'string') return JSON.stringify(value);
  return typeof value === 'number' && !Number.isFinite(value) ? 'null' : String(value);
};

const encodeWords = (words: WordArrays): string => {
  let list = '';
  for (let index = 0; index < words.value.length; index += 1) {
    const value = words.value[index];
    list += `${index === 0 ? '' : ','}{"value":${typeof value === 'string' ? JSON.stringify(value) : 'null'}`;
    list += `,"start":${words.start[index] ?? null},"length":${words.length[index] ?? null}`;
    list += `,"score":${words.score[index] ?? null}}`;
  }
  return `[${list}]`;
};

interface CallEncoders {
  readonly tables: readonly TableEncoder[];
  readonly changes: TableEncoder;
}

const callLine = (n: number, call: CallLoad, key: string, { tables, changes }: CallEncoders): string => {
  const flat = call.flatten();
  let line = `{"n":${n},"kind":"call","content_hash":"${contentHash(flat)}","call_id":${JSON.stringify(call.callId)},"call_key":${JSON.stringify(key)}`;
  line += `,"call_timestamp":${call.callTimestamp},"revision":${call.revision},"sent_before":${call.partitions.length > 0}`;
  line += `,"moved":${isMoved(call)}`;
  for (const table of tables) {
    const rows = flat[table.name as keyof FlatRows] ?? [];
    if (rows.length > 0) line += `,"${table.name}":[${rows.map((row) => table.row(row)).join(',')}]`;
  }
  if (call.changes.length > 0) line += `,"changes":[${call.changes.map((row) => changes.row(row)).join(',')}]`;
  return `${line}}`;
};

const tombstoneLine = (n: number, { callId, callKey, revision }: TombstoneLoad): string =>
  `{"n":${n},"kind":"tombstone","call_id":${JSON.stringify(callId)},"call_key":${JSON.stringify(callKey)}` +
  `,"revision":${revision},"sent_before":false}`;
