/** Rows of calls as the bytes of COPY. A thread makes those of large loads: one core would otherwise limit a load. */
import { Tinypool } from 'tinypool';
import type { Column, ColumnType, Row, Table, WordArrays } from '../../../schemas/tables.ts';
import { guardColumns, tableOf } from '../../../schemas/tables.ts';
import { findBuilt } from '../../lib/find-built.ts';
import { BinaryCopyWriter } from '../../postgres/binary-copy.ts';
import { contentHash } from '../digest.ts';
import type { CallLoad, CallSource, FlatRows, LoadBatch } from '../warehouse.ts';
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
type ToEncode = Pick<CallLoad, 'revision' | 'flatten' | 'source'>;

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

/** Fewer calls are encoded faster than a message comes and goes. */
const fewCalls = 20;

/** Beside dist/ when running from sources. */
const threadPlaces = ['./encode-thread.js', '../../../dist/src/warehouse/postgres/encode-thread.js'];

type RowFields = Pick<
  CallSource['row'],
  'callId' | 'revision' | 'firstSeenAt' | 'changedAt' | 'sourceDeletedAt' | 'rules'
>;

/** A field of a document: its value, or the place of its JSON among the bytes of the task. */
type SentField = readonly [name: string, value: unknown] | readonly [name: string, from: number, to: number];

/** Message to the thread. The bytes are its own from then on. */
export interface EncoderTask {
  readonly guard: LoadGuard;
  readonly options: CallSource['options'];
  readonly bytes: Uint8Array;
  readonly calls: readonly (RowFields & { readonly fields: readonly SentField[] })[];
}

/** Large fields stay the bytes in which they came: nothing is parsed or written for the message. */
const taskOf = (guard: LoadGuard, sources: readonly CallSource[]): EncoderTask => {
  const large = sources.flatMap(({ row }) => Object.values(row.json).filter((json) => typeof json !== 'string'));
  // A memory of its own, which goes to the thread as a whole.
  const bytes = Buffer.allocUnsafeSlow(large.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  const place = (name: string, json: Buffer): SentField => {
    const from = end;
    end += json.copy(bytes, from);
    return [name, from, end];
  };
  const calls = sources.map(({ row }) => {
    const { callId, revision, firstSeenAt, changedAt, sourceDeletedAt, rules, document, json } = row;
    const fields = Object.keys(document ?? {}).map((name): SentField => {
      const held = Object.hasOwn(json, name) ? json[name] : undefined;
      return typeof held === 'object' ? place(name, held) : [name, document?.[name]];
    });
    return { callId, revision, firstSeenAt, changedAt, sourceDeletedAt, rules, fields };
  });
  return { guard, options: sources[0]?.options ?? {}, bytes, calls };
};

/**
 * The thread starts with the first large load.
 * @throws CallsyncError BUILD_MISSING, or the error that ended the thread: the load fails, and the next one has another.
 */
export const openEncoder = (layout: Layout) => {
  const encodeHere = createEncoder(layout);
  let pool: Tinypool | undefined;
  const open = (): Tinypool => {
    const opened = new Tinypool({
      filename: findBuilt(import.meta.url, ...threadPlaces),
      minThreads: 1,
      maxThreads: 1,
      // Not the rest of a layout: as given, it has the URL of the database.
      workerData: { schema: layout.schema, documents: layout.documents } satisfies Layout,
      // Most of the objects live for one call.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
      // Neither secrets of the environment nor flags of the process concern it.
      env: {},
      execArgv: [],
    });
    // The thread could not be started again: without an end, its loads would wait forever.
    opened.on('error', () => {
      pool = undefined;
      void opened.destroy();
    });
    return opened;
  };
  return {
    encode: async (load: LoadGuard, calls: readonly ToEncode[]): Promise<EncodedCalls> => {
      const guard = { epoch: load.epoch, flattenVersion: load.flattenVersion, loadId: load.loadId };
      const sources = calls.flatMap(({ source }) => source ?? []);
      if (calls.length < fewCalls || sources.length < calls.length) return encodeHere(guard, calls);
      pool ??= open();
      const task = taskOf(guard, sources);
      return await pool.run(task, { transferList: [task.bytes.buffer as ArrayBuffer] });
    },
    /** Ends the thread; a load under way fails. */
    close: async () => await pool?.destroy(),
  };
};
