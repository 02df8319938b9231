/**
 * Erasures outside the store and the warehouses: a file to which each erasure adds keyed selectors and nothing else. A
 * store or a warehouse that is set back to an earlier day learns from it what was erased since. One line is one selector,
 * as JSON: `{"at":"2026-01-31T12:00:00.000Z","call":"<keyed hash>"}`; the member beside `at` is the kind. Receipts and legal
 * holds, which stop erasures, are lines of their own.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { terminal } from '../lib/errors.ts';

/** What a selector names, as a keyed hash (`Store.keyOf`): a call's id, what names a person, or what names one whose future
 * calls are kept out too. A line of an unknown kind is kept and skipped. */
export type SelectorKind = 'call' | 'person' | 'objection';

export interface Selector {
  readonly kind: SelectorKind;
  readonly key: string;
}

/** A signed receipt of an erasure as the store has it, so that a store that is set back has it again. */
export interface LoggedReceipt {
  readonly receipt_id: number;
  readonly receipt: string;
  readonly key_id: string;
  readonly previous_digest: string | null;
  readonly digest: string;
}

/** A legal hold, or more that it names. Keys are keyed hashes (`Store.keyOf`). */
export interface LoggedHold {
  readonly id: string;
  readonly kind: 'call' | 'phone' | 'metadata';
  readonly reason: string;
  /** Operating system user who put it on. */
  readonly actor: string;
  /** ISO 8601. */
  readonly at: string;
  /** Of call ids. */
  readonly calls: readonly string[];
  /** Of what names later calls: a number, a value of a metadata key. */
  readonly subjects: readonly string[];
}

export interface LoggedErasures {
  readonly selectors: readonly Selector[];
  readonly receipts: readonly LoggedReceipt[];
  /** Those that were not taken off later in the same reading. */
  readonly holds: readonly LoggedHold[];
  /** Ids of holds that were taken off. */
  readonly unheld: readonly string[];
  /** Where the next reading begins: bytes of whole lines. */
  readonly end: number;
}

/** All methods throw CallsyncError ERASURE_LOG. */
export interface ErasureLog {
  /** Durable when it resolves. Keys are keyed hashes: nothing that names a person or a call without the key. */
  append(kind: SelectorKind, keys: readonly string[]): Promise<void>;
  /** Durable when it resolves. */
  appendReceipt(receipt: LoggedReceipt): Promise<void>;
  /** Durable when it resolves. */
  appendHold(hold: LoggedHold): Promise<void>;
  /** Durable when it resolves. */
  appendUnheld(holdId: string): Promise<void>;
  /** What was added since a reading that ended at `from`; everything where the file is shorter than that, and thus another. */
  read(from?: number): Promise<LoggedErasures>;
}

const kinds: readonly SelectorKind[] = ['call', 'person', 'objection'];
const mode = 0o600;
const linesPerWrite = 1_000;
const lineEnd = 0x0a;

/** The file is made by the first erasure. */
export const openErasureLog = (file: string): ErasureLog => {
  const fail = (cause: unknown) =>
    terminal('ERASURE_LOG', `The erasure log cannot be read or written: ${file}.`, {
      hint: 'Let the user that runs callsync read and write it, or set store.erasure_log.',
      cause,
    });
  const withFile = async <T>(flags: string, work: (handle: FileHandle) => Promise<T>): Promise<T> => {
    const handle = await open(file, flags, mode);
    try {
      return await work(handle);
    } finally {
      await handle.close();
    }
  };
  const append = async (entries: readonly Readonly<Record<string, unknown>>[]): Promise<void> => {
    const at = new Date().toISOString();
    const lines = entries.map((entry) => `${JSON.stringify({ at, ...entry })}\n`);
    await withFile('a', async (handle) => {
      for (let start = 0; start < lines.length; start += linesPerWrite) {
        // One write each, so that processes do not mix their lines; the line end first closes a line that a crash cut off.
        await handle.appendFile(`\n${lines.slice(start, start + linesPerWrite).join('')}`);
      }
      await handle.datasync();
    }).catch((cause) => {
      throw fail(cause);
    });
  };
  return {
    append: async (kind, keys) => {
      if (keys.length > 0) await append(keys.map((key) => ({ [kind]: key })));
    },
    appendReceipt: (receipt) => append([{ receipt }]),
    appendHold: (hold) => append([{ hold }]),
    appendUnheld: (unheld) => append([{ unheld }]),
    read: async (from = 0) => {
      try {
        return await withFile('r', async (handle) => {
          const { size } = await handle.stat();
          const start = from <= size ? from : 0;
          const bytes = Buffer.alloc(size - start);
          const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
          const whole = bytes.subarray(0, bytes.lastIndexOf(lineEnd, bytesRead) + 1);
          const entries = whole.toString('utf8').split('\n').flatMap(readLine);
          return {
            selectors: entries.flatMap(selectorsOf),
            receipts: entries.flatMap(({ receipt }) => (receipt === undefined ? [] : [receipt])),
            ...readHolds(entries),
            end: start + whole.length,
          };
        });
      } catch (cause) {
        if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')
          return { selectors: [], receipts: [], holds: [], unheld: [], end: 0 };
        throw fail(cause);
      }
    },
  };
};

type Entry = Partial<Record<SelectorKind, unknown>> & {
  readonly receipt?: LoggedReceipt;
  readonly hold?: LoggedHold;
  readonly unheld?: string;
};

/** A line that was cut off names nothing: its erasure was never confirmed. */
const readLine = (line: string): Entry[] => {
  if (line === '') return [];
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? [entry] : [];
  } catch {
    return [];
  }
};

const selectorsOf = (entry: Entry): Selector[] =>
  kinds.flatMap((kind) => {
    const key = entry[kind];
    return typeof key === 'string' ? [{ kind, key }] : [];
  });

const readHolds = (entries: readonly Entry[]): Pick<LoggedErasures, 'holds' | 'unheld'> => {
  const unheld = entries.flatMap((entry) => entry.unheld ?? []);
  return {
    unheld,
    holds: entries.flatMap(({ hold }) => (hold === undefined || unheld.includes(hold.id) ? [] : [hold])),
  };
};
