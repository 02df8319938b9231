/** Rows of calls as the bytes of COPY. Pure, so that a thread can do it. */
import type { Column, ColumnType, Row, Table, WordArrays } from '../../../schemas/tables.ts';
import { guardColumns, tableOf } from '../../../schemas/tables.ts';
import { BinaryCopyWriter } from '../../postgres/binary-copy.ts';
import { contentHash } from '../digest.ts';
import type { CallLoad, FlatRows, LoadBatch } from '../warehouse.ts';
import { childTables, columnsOf, type Layout, qualified, quote } from './layout.ts';

/**
 * Computes the common parts of all loads of a table once; each call of the result begins an empty one. `target` is
 * the relation of COPY. The first row allocates memory.
 */
const prepareTable = (target: string, table: Table) => {
  const write = rowWriter(table.columns);
  const names = columnsOf(table).map((column) => quote(column.name));
  const copyTarget = `${target} (${names.join(', ')})`;
  return () => {
    let writer: BinaryCopyWriter | undefined;
    return {
      add: (row: Row) => {
        writer ??= new BinaryCopyWriter();
        write(writer, row);
      },
      end: (): EncodedTable => ({ target: copyTarget, chunks: writer?.end() }),
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

/** @param content where it has the same words between blanks, null stands for them: they were a seventh of a database */
const writeWords = (writer: BinaryCopyWriter, words: WordArrays, content?: unknown): void => {
  if (typeof content === 'string' && isSplit(content, words.value)) writer.null();
  else writer.textArray(words.value);
  writer.float8Array(words.start);
  writer.float8Array(words.length);
  writer.float8Array(words.score);
};

/** The hash of the bytes that COPY sends, as digests computed by the server have it. */
export const wordsText = (words: WordArrays): string => {
  const writer = new BinaryCopyWriter();
  writeWords(writer, words);
  return writer.hash();
};

/** Whether `string_to_array(content, ' ')` has these words; of an empty text, it has none. */
const isSplit = (content: string, words: WordArrays['value']): boolean => {
  let at = 0;
  for (const word of words) {
    const blank = content.indexOf(' ', at);
    const end = blank === -1 ? content.length : blank;
    if (word?.length !== end - at || !content.startsWith(word, at)) return false;
    at = end + 1;
  }
  return at === content.length + 1 && content !== '';
};

/** A function that writes one logical row as one COPY row. */
const rowWriter = (columns: readonly Column[]) => {
  const count = columns.reduce((sum, column) => sum + (column.type === 'words' ? 4 : 1), 0);
  const steps = columns.map(({ name, type }) => [name, type === 'words' ? null : writers[type]] as const);
  return (writer: BinaryCopyWriter, row: Row): void => {
    writer.row(count);
    for (const [name, step] of steps) {
      const value = row[name];
      if (step === null) writeWords(writer, value as WordArrays, row.content);
      else if (value === null || value === undefined) writer.null();
      else step(writer, value as never);
    }
  };
};

/** Rows of one table for COPY. `chunks` is undefined without rows. */
interface EncodedTable {
  readonly target: string;
  readonly chunks: readonly Uint8Array[] | undefined;
}

/** `stage` = the rows of `calls` with their guard. */
export type EncodedCalls = { readonly stage: EncodedTable; readonly children: readonly EncodedTable[] };

/** A call to encode. */
export type ToEncode = Pick<CallLoad, 'revision' | 'flatten' | 'source'>;

/** Columns of a load in the rows of `calls`. */
export type LoadGuard = Pick<LoadBatch, 'epoch' | 'flattenVersion' | 'loadId'>;

/** Encodes every row of every call, in one pass over the calls: nothing holds more than the rows of one. */
export const createEncoder = (layout: Layout) => {
  const calls = tableOf('calls');
  const withGuard: Table = { ...calls, kind: 'child', columns: [...calls.columns, ...guardColumns] };
  const beginStage = prepareTable('stage_calls', withGuard);
  const beginChildren = childTables(layout).map(
    (child) => [child.name as keyof FlatRows, prepareTable(qualified(layout, child.name), child)] as const,
  );
  return (guard: LoadGuard, calls: readonly ToEncode[]): EncodedCalls => {
    const stage = beginStage();
    const children = beginChildren.map(([name, begin]) => [name, begin()] as const);
    for (const call of calls) {
      const rows = call.flatten();
      stage.add({
        ...rows.calls[0],
        ledger_epoch: guard.epoch,
        revision: call.revision,
        flatten_version: guard.flattenVersion,
        load_id: guard.loadId,
        content_hash: contentHash(rows),
      });
      for (const [name, child] of children) for (const row of rows[name]) child.add(row);
    }
    return { stage: stage.end(), children: children.map(([, child]) => child.end()) };
  };
};
