/**
 * Log of erasures outside store and warehouses. Each erasure adds keyed selectors only, so a restored store or
 * warehouse learns of later erasures.
 * One line is one selector, as JSON: `{"at":"2026-01-31T12:00:00.000Z","call":"<keyed hash>"}`. Receipts and legal
 * holds are lines of their own.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { terminal } from '../lib/errors.ts';
import { isObject, parseQuietly } from '../lib/parse-json.ts';
import { type Database, type Transaction, withLock } from '../postgres/database.ts';

/**
 * Kinds of selectors, each a keyed hash (`Store.keyOf`): a call id, a value of a person, or a value whose future
 * calls are excluded too. Lines of unknown kinds are kept and skipped.
 */
type SelectorKind = 'call' | 'person' | 'objection';

/** A signed receipt of an erasure as in the store, so that a restored store gets it back. */
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
  readonly kind: string;
  readonly reason: string;
  /** Operating system user who added the hold. */
  readonly actor: string;
  /** ISO 8601. */
  readonly at: string;
  /** Keyed hashes of call ids. */
  readonly calls: readonly string[];
  /** Keys that match later calls: a number, or a value of a metadata key. */
  readonly subjects: readonly string[];
}

/** Bytes of whole lines, and how the file begins: another host may have a file of its own. */
type LogPlace = { readonly bytes: number; readonly head: string };

/** Content of one line beside its time. Keys are keyed hashes, so no line names a person or a call. */
type Entry = Partial<Record<SelectorKind, string>> & {
  readonly receipt?: LoggedReceipt;
  readonly hold?: LoggedHold;
  /** Id of a hold. */
  readonly unheld?: string;
};

/** All methods throw CallsyncError ERASURE_LOG. */
export type ErasureLog = ReturnType<typeof openErasureLog>;

const kinds: readonly SelectorKind[] = ['call', 'person', 'objection'];

/**
 * Whether `Store.keyOf` may have made the value. Other programs can write logs and warehouses, and one bad key would
 * stop every check of the ledger.
 */
export const isKey = (value: unknown): value is string => typeof value === 'string' && /^[\w-]{1,100}$/.test(value);
const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');
const isReceipt = (value: unknown): value is LoggedReceipt => {
  const { receipt_id, receipt, key_id, previous_digest, digest } = (value ?? {}) as Partial<LoggedReceipt>;
  return Number.isSafeInteger(receipt_id) && [receipt, key_id, previous_digest ?? '', digest].every(isText);
};
const isHold = (value: unknown): value is LoggedHold => {
  const { id, kind, reason, actor, at, calls, subjects } = (value ?? {}) as Partial<LoggedHold>;
  const isTime = typeof at === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(at) && !Number.isNaN(Date.parse(at));
  const areKeys = [calls, subjects].every((keys) => Array.isArray(keys) && keys.every(isKey));
  return [id, kind, reason, actor].every(isText) && isTime && areKeys;
};
const mode = 0o600;
const lineEnd = 0x0a;
/** Time and part of the key of the first line. */
const headBytes = 80;

/** The file is made by the first erasure. */
export const openErasureLog = (file: string) => {
  const fail = (cause: unknown) =>
    terminal('ERASURE_LOG', `The erasure log cannot be read or written: ${file}.`, { cause });
  const add = async (lines: Buffer): Promise<void> => {
    await using handle = await open(file, 'a', mode);
    const { size } = await handle.stat();
    await handle.appendFile(lines);
    await handle.datasync();
    await using again = await open(file);
    if (!(await readFrom(again, size)).equals(lines)) throw new Error('The file differs from the written content.');
  };
  return {
    /**
     * Durable when it resolves. Hosts append one at a time, because a network file system lets parallel appends
     * overwrite each other.
     */
    append: async (db: Database | Transaction, entries: readonly Entry[]) => {
      if (entries.length === 0) return;
      const at = new Date().toISOString();
      // The line end first closes a line that a crash cut off.
      const lines = Buffer.from(`\n${entries.map((entry) => `${JSON.stringify({ at, ...entry })}\n`).join('')}`);
      await withLock(db, 'callsync.erasure_log', () =>
        add(lines).catch((cause) => {
          throw fail(cause);
        }),
      );
    },
    /**
     * Reads lines after the end of an earlier reading. If the file is shorter or begins differently, it is another file, and all lines are read.
     */
    read: async (after?: LogPlace) => {
      try {
        await using handle = await open(file);
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
        const head = buffer.toString('latin1', 0, bytesRead);
        const start = after?.head === head && after.bytes <= (await handle.stat()).size ? after.bytes : 0;
        const bytes = await readFrom(handle, start);
        const whole = bytes.subarray(0, bytes.lastIndexOf(lineEnd) + 1);
        const entries = whole.toString('utf8').split('\n').flatMap(readLine);
        return {
          selectors: entries.flatMap(selectorsOf),
          receipts: entries.flatMap(({ receipt }) => (isReceipt(receipt) ? [receipt] : [])),
          ...readHolds(entries),
          end: { bytes: start + whole.length, head },
        };
      } catch (cause) {
        if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')
          return { selectors: [], receipts: [], holds: [], unheld: [], end: { bytes: 0, head: '' } };
        throw fail(cause);
      }
    },
  };
};

const readFrom = async (handle: FileHandle, start: number): Promise<Buffer> => {
  const bytes = Buffer.alloc((await handle.stat()).size - start);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return bytes.subarray(0, bytesRead);
};

/** A cut-off line names nothing, because its erasure was never confirmed. */
const readLine = (line: string): Entry[] => {
  const entry = parseQuietly(line);
  return isObject(entry) ? [entry] : [];
};

const selectorsOf = (entry: Entry): { readonly kind: SelectorKind; readonly key: string }[] =>
  kinds.flatMap((kind) => {
    const key = entry[kind];
    return isKey(key) ? [{ kind, key }] : [];
  });

/**
 * `holds` = holds that no later line of the same reading removes.
 * `unheld` = ids of holds that were taken off.
 */
const readHolds = (entries: readonly Entry[]) => {
  const unheld = entries.flatMap((entry) => (isText(entry.unheld) ? [entry.unheld] : []));
  return { unheld, holds: entries.flatMap(({ hold }) => (isHold(hold) && !unheld.includes(hold.id) ? [hold] : [])) };
};
