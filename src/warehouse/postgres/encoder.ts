/** Rows of calls as the bytes of COPY. A thread makes those of large loads: one core would otherwise limit a load. */
import type { Row, Table, WordArrays } from '../../../schemas/tables.ts';
import { childTables, guardColumns, tableOf } from '../../../schemas/tables.ts';
import { findBuilt } from '../../lib/find-built.ts';
import { runOnThread } from '../../lib/thread.ts';
import { BinaryCopyWriter, copyWriters } from '../../postgres/binary-copy.ts';
import { contentHash } from '../content-hash.ts';
import type { CallLoad, CallSource, FlatRows, LoadBatch } from '../warehouse.ts';
import { columnsOf, type Layout, qualified, quote } from './layout.ts';

/** Where the content has the same words between blanks, null stands for them: they were a seventh of a database. */
const writeWords = (writer: BinaryCopyWriter, words: WordArrays, { content }: Row): void => {
  if (typeof content === 'string' && isSplit(content, words.value)) writer.null();
  else writer.textArray(words.value);
  writer.float8Array(words.start);
  writer.float8Array(words.length);
  writer.float8Array(words.score);
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

/** How rows of a table are written: computed once for all loads. `target` = the relation of COPY, with its columns. */
const layOut = (target: string, table: Table) => ({
  target: `${target} (${columnsOf(table)
    .map(({ name }) => quote(name))
    .join(', ')})`,
  count: table.columns.reduce((sum, { type }) => sum + (type === 'words' ? 4 : 1), 0),
  names: table.columns.map(({ name }) => name),
  steps: table.columns.map(({ type }) => (type === 'words' ? writeWords : copyWriters[type])),
});

/** Rows of one table. A class, not closures: V8 compiles a closure anew for each table. */
class TableEncoder {
  private readonly written: ReturnType<typeof layOut>;
  /** The first row allocates memory. */
  private writer: BinaryCopyWriter | undefined;

  constructor(written: ReturnType<typeof layOut>) {
    this.written = written;
  }

  /** Writes one logical row as one COPY row. */
  add(row: Row): void {
    this.writer ??= new BinaryCopyWriter();
    this.writer.fields(row, this.written);
  }

  /** Not a part of the loop over tables: V8 compiled that loop twice as often. */
  addAll(rows: readonly Row[]): void {
    for (const row of rows) this.add(row);
  }

  end(): EncodedTable {
    return { target: this.written.target, chunks: this.writer?.end() };
  }
}

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
type LoadGuard = Pick<LoadBatch, 'epoch' | 'flattenVersion' | 'loadId'>;

export type LoadToEncode = LoadGuard & Pick<LoadBatch, 'ownsBytes'>;

/** Encodes every row of every call, in one pass over the calls: nothing holds more than the rows of one. */
export const createEncoder = (layout: Layout) => {
  const calls = tableOf('calls');
  const withGuard: Table = { ...calls, kind: 'child', columns: [...calls.columns, ...guardColumns] };
  const stageRows = layOut('stage_calls', withGuard);
  const childRows = childTables(layout.documents).map(
    (child) => [child.name as keyof FlatRows, layOut(qualified(layout, child.name), child)] as const,
  );
  return (guard: LoadGuard, calls: readonly ToEncode[]): EncodedCalls => {
    const stage = new TableEncoder(stageRows);
    const children = childRows.map(([name, written]) => [name, new TableEncoder(written)] as const);
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
      for (const [name, child] of children) child.addAll(rows[name]);
    }
    return { stage: stage.end(), children: children.map(([, child]) => child.end()) };
  };
};

/** Fewer calls are encoded faster than a message comes and goes. */
const fewCalls = 20;

type RowFields = Pick<
  CallSource['row'],
  'callId' | 'revision' | 'firstSeenAt' | 'changedAt' | 'sourceDeletedAt' | 'rules'
>;

/** A large field of a document: the place of its JSON in one of the memories of the task. */
type SentField = readonly [name: string, memory: number, from: number, to: number];

/** Message to the thread. The memories are its own from then on. */
export interface EncoderTask {
  readonly layout: Layout;
  readonly guard: LoadGuard;
  readonly options: CallSource['options'];
  readonly memories: readonly Uint8Array[];
  /** `rest` = the other fields of the document as JSON: a message of values takes several times as long. */
  readonly calls: readonly (RowFields & { readonly fields: readonly SentField[]; readonly rest: string })[];
}

/** The memory of a smaller body may be shared. */
const sharedBytes = 64 * 1024;

/** Large fields stay the bytes in which they came: nothing is parsed or written for the message. */
const taskOf = (layout: Layout, guard: LoadGuard, sources: readonly CallSource[], ownsBytes: boolean): EncoderTask => {
  const large = sources.flatMap(({ row: { document } }) => Object.values(document?.held ?? {}).filter(Buffer.isBuffer));
  // Pages go as they came; of other memories the thread gets a copy.
  const isPage = ({ buffer }: Buffer): boolean => ownsBytes && buffer.byteLength > sharedBytes;
  const pages = [...new Set(large.filter(isPage).map(({ buffer }) => buffer))];
  const copy = Buffer.allocUnsafeSlow(large.reduce((sum, field) => sum + (isPage(field) ? 0 : field.length), 0));
  let end = 0;
  const place = (field: Buffer): readonly [memory: number, from: number, to: number] => {
    if (isPage(field)) return [1 + pages.indexOf(field.buffer), field.byteOffset, field.byteOffset + field.length];
    const from = end;
    end += field.copy(copy, from);
    return [0, from, end];
  };
  const calls = sources.map(({ row }): EncoderTask['calls'][number] => {
    const { callId, revision, firstSeenAt, changedAt, sourceDeletedAt, rules } = row;
    const fields: SentField[] = [];
    const others: [string, unknown][] = [];
    for (const [name, held] of Object.entries(row.document?.held ?? {}))
      if (Buffer.isBuffer(held)) fields.push([name, ...place(held)]);
      else others.push([name, held]);
    const rest = JSON.stringify(Object.fromEntries(others));
    return { callId, revision, firstSeenAt, changedAt, sourceDeletedAt, rules, fields, rest };
  });
  // Not the rest of a layout: as given, it has the URL of the database.
  const { schema, documents } = layout;
  const memories = [copy, ...pages.map((page) => new Uint8Array(page))];
  return { layout: { schema, documents }, guard, options: sources[0]?.options ?? {}, memories, calls };
};

/** @throws CallsyncError BUILD_MISSING, or as `runOnThread`: the load fails. */
export const createThreadedEncoder = (layout: Layout) => {
  const encodeHere = createEncoder(layout);
  return async (load: LoadToEncode, calls: readonly ToEncode[]): Promise<EncodedCalls> => {
    const guard = { epoch: load.epoch, flattenVersion: load.flattenVersion, loadId: load.loadId };
    const sources = calls.flatMap(({ source }) => source ?? []);
    if (calls.length < fewCalls || sources.length < calls.length) return encodeHere(guard, calls);
    const task = taskOf(layout, guard, sources, load.ownsBytes === true);
    return await runOnThread(findBuilt('src/warehouse/postgres/encode-thread.js'), task, task.memories);
  };
};
