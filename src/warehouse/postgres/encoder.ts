/** Rows of calls as the bytes of COPY. */
import { setImmediate } from 'node:timers/promises';
import type { Row, Table, WordArrays } from '../../../schemas/tables.ts';
import { childTables, guardColumns, tableOf } from '../../../schemas/tables.ts';
import { BinaryCopyWriter, copyWriters } from '../../postgres/binary-copy.ts';
import { contentHash } from '../content-hash.ts';
import type { CallLoad, FlatRows, LoadBatch } from '../warehouse.ts';
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
type ToEncode = Pick<CallLoad, 'revision' | 'flatten'>;

/** Columns of a load in the rows of `calls`. */
type LoadGuard = Pick<LoadBatch, 'epoch' | 'flattenVersion' | 'loadId'>;

export type Encode = ReturnType<typeof createEncoder>;

/** After so many milliseconds others have their turn. */
const turnMs = 4;

/**
 * Encodes every row of every call, in one pass over the calls: nothing holds more than the rows of one. On the thread of
 * the caller: another one would compile and collect all of this a second time.
 */
export const createEncoder = (layout: Layout) => {
  const calls = tableOf('calls');
  const withGuard: Table = { ...calls, kind: 'child', columns: [...calls.columns, ...guardColumns] };
  const stageRows = layOut('stage_calls', withGuard);
  const childRows = childTables(layout.documents).map(
    (child) => [child.name as keyof FlatRows, layOut(qualified(layout, child.name), child)] as const,
  );
  return async (guard: LoadGuard, calls: readonly ToEncode[]): Promise<EncodedCalls> => {
    const stage = new TableEncoder(stageRows);
    const children = childRows.map(([name, written]) => [name, new TableEncoder(written)] as const);
    let turnEnds = performance.now() + turnMs;
    for (const call of calls) {
      if (performance.now() > turnEnds) {
        await setImmediate();
        turnEnds = performance.now() + turnMs;
      }
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
