/** Encodes large loads on a thread: one core would otherwise limit a load, while others wait. */
import { Tinypool } from 'tinypool';
import { findBuilt } from '../../lib/find-built.ts';
import type { CallSource } from '../warehouse.ts';
import { createEncoder, type EncodedCalls, type LoadGuard, type ToEncode } from './encode.ts';
import type { Layout } from './layout.ts';

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
