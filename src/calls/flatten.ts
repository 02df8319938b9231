/** Flatten: folded call → rows of every warehouse table, as `schemas/tables.ts` says where columns come from. Pure. */
import { hash } from 'node:crypto';
import { type CallDocument, callFields } from '../../schemas/call.ts';
import { type ObservationSource, sourceRank } from '../../schemas/observation.ts';
import type { CallTableName, Column, Row, WordArrays } from '../../schemas/tables.ts';
import { allFields, tableOf, udfKey } from '../../schemas/tables.ts';
import { JsonRecord } from '../lib/json-record.ts';
import * as sign from '../lib/json-signs.ts';
import { isObject, plainDecimal, valueAt } from '../lib/parse-json.ts';
import { parseTimestamp } from '../lib/timestamps.ts';
import { cleanText, type LedgerRow, maxJsonDepth } from './fold.ts';
import { knownField, readRedactions, redactionsField } from './own-fields.ts';

// Bound here: a look into another module for each byte takes as long as the byte.
const { quote, backslash, comma, minus, dot, zero, nine, closeBracket, openBrace, closeBrace } = sign;

/** Raised whenever the rows of an unchanged document, or their hash, would change; every call then becomes pending. */
export const flattenVersion = 5;

/** Source of rows: a row of the ledger, or a part of one. A document that is null counts as an object without fields. */
type FlattenInput = Pick<LedgerRow, 'callId' | 'firstSeenAt' | 'changedAt' | 'sourceDeletedAt'> &
  Partial<Pick<LedgerRow, 'rules'>> & { readonly document: JsonRecord | CallDocument | null };

interface FlattenOptions {
  /** Path of the field that holds the end of processing; `qualified` by default. */
  readonly processedField?: string | undefined;
  /** Also make the row of table documents. */
  readonly documents?: boolean;
}

/** Sources of the cells of a call's rows, besides their item. */
interface Call {
  readonly input: FlattenInput;
  readonly document: CallDocument;
  readonly processedField: string;
  readonly read: FieldReader;
  readonly at: number | null;
  /** Rows that `calls` counts, and the words of all utterances. */
  readonly counts: { readonly utterances: number; readonly tags: number; readonly words: number };
}

/** Source of one row; paths of its columns begin at `value`. */
interface Item {
  readonly value: Readonly<Record<string, unknown>>;
  /** The path of `value`, for issues. */
  readonly field: string;
  readonly index: number;
  readonly words?: Words;
}

/** The value of one column. `row` has the columns before it. */
type Cell = (item: Item, call: Call, row: Row) => unknown;

const countedCells: Readonly<Record<string, Cell>> = {
  '=position': ({ index }) => index,
  '=count utterances': (_, { counts }) => counts.utterances,
  '=count tags': (_, { counts }) => counts.tags,
  '=count words': ({ words }, { counts }) => words?.value.length ?? counts.words,
};

const derivedCells: Readonly<Record<string, Cell>> = {
  call_id: (_, { input }) => input.callId,
  call_timestamp: (_, { at }) => at,
  processed_at: (_, { document, read, processedField }) =>
    read.timestamp(valueAt(document, processedField.split('.')), processedField),
  extra: (_, call) => extraOf(call),
  issues: (_, { read }) => read.issuesText(),
  first_seen_at: (_, { input }) => input.firstSeenAt,
  last_seen_at: (_, { input }) => input.changedAt,
  source_deleted_at: (_, { input }) => input.sourceDeletedAt,
  words: ({ words }) => words,
  value_bool: ({ value: { value } }) => (typeof value === 'boolean' ? value : null),
  value_number: ({ value: { value } }, { read }) => (typeof value === 'number' ? read.number(value, 'value') : null),
  value_text: ({ value: { value } }, { read }) => (typeof value === 'string' ? read.text(value, 'value') : null),
  side: ({ field }) => field,
  phone: (_item, _call, { type, data }) =>
    type === 'PHONE' && typeof data === 'string' ? (normalizePhone(data) ?? null) : null,
};

/** How a value under a path is read, by the type of its column. */
const readers = {
  text: 'text',
  float: 'numberText',
  bool: 'boolText',
  timestamp: 'timestamp',
  json: 'freeJson',
} as const satisfies Partial<Record<Column['type'], keyof FieldReader>>;

const cellOf = ({ name, type, from = '=' }: Column): Cell => {
  const cell = from === '=derived' ? derivedCells[name] : countedCells[from];
  if (cell !== undefined) return cell;
  if (from.startsWith('=') || !(type in readers)) throw new Error(`column ${name} says not where it comes from`);
  const method = readers[type as keyof typeof readers];
  const path = from.split('.');
  return ({ value }, { read }) => read[method](valueAt(value, path), from);
};

/** The cells of a table, compiled once. */
const cellsOf = (name: CallTableName) => {
  const { columns } = tableOf(name);
  const names = columns.map((column) => column.name);
  // A copy of it has room for every column.
  return { names, cells: columns.map(cellOf), empty: Object.fromEntries(names.map((column) => [column, null])) };
};

const makeRow = ({ names, cells, empty }: ReturnType<typeof cellsOf>, item: Item, call: Call): Row => {
  const row: Record<string, unknown> = { ...empty };
  call.read.within = item.field;
  for (let index = 0; index < cells.length; index += 1)
    row[names[index] as string] = (cells[index] as Cell)(item, call, row);
  call.read.within = '';
  return row;
};

/** Rows of a table with a row for each item. */
const rowsOf = (cells: ReturnType<typeof cellsOf>, items: readonly Item[], call: Call): Row[] =>
  items.map((item) => makeRow(cells, item, call));

const callCells = cellsOf('calls');
const utteranceCells = cellsOf('utterances');
const tagCells = cellsOf('tags');
const contactCells = cellsOf('contacts');

/**
 * A field of the wrong type becomes null with an entry in `issues`; nothing makes it throw.
 * `callTimestamp` = microseconds since the epoch; null when absent or unreadable.
 */
export const flattenCall = (
  input: FlattenInput,
  { processedField = 'qualified', documents = false }: FlattenOptions = {},
) => {
  const record = JsonRecord.of(input.document) ?? new JsonRecord();
  const json = documents ? undefined : record.json('transcript_json');
  const cut = json && cutWords(json);
  const document = (cut ? record.with({ transcript_json: cut.value }) : record).toJSON();
  const read = new FieldReader();
  const at = read.timestamp(document.timestamp, 'timestamp');
  const call = { input, document, processedField, read, at, counts: { utterances: 0, tags: 0, words: 0 } };
  const keys = { call_id: input.callId, call_timestamp: at };
  const transcript = read.object(document.transcript_json, 'transcript_json');
  const meta = read.object(transcript?.meta, 'transcript_json.meta');
  const spoken = readUtterances(transcript?.callData, read, cut?.words);
  const utterances = rowsOf(utteranceCells, spoken, call);
  const tagged = read.array(document.tags, 'tags').map((tag, index) => {
    const field = `tags[${index}]`;
    return { value: read.element(tag, field), field, index };
  });
  const tags = rowsOf(tagCells, tagged, call);
  const values = readMetadata(document.metadata, read);
  // In literals: copied keys took a tenth of a flattening.
  const metadata = [...values].map(([key, value]) => ({ call_id: input.callId, call_timestamp: at, key, value }));
  const sides = ['in', 'out'].flatMap((field, index) => {
    const value = read.object(document[field], field);
    return value === undefined ? [] : [{ value, field, index }];
  });
  const contacts = rowsOf(contactCells, sides, call);
  const words = spoken.reduce((sum, one) => sum + one.words.value.length, 0);
  // Parts with their own rows were checked already, so the call's row takes them unchecked.
  const value = {
    ...document,
    transcript_json: { ...transcript, meta },
    metadata: Object.fromEntries(values),
    ...Object.fromEntries(contacts.map((row) => [row.side, row])),
  };
  const counts = { utterances: utterances.length, tags: tags.length, words };
  const rows: Readonly<Record<CallTableName, readonly Row[]>> = {
    calls: [makeRow(callCells, { value, field: '', index: 0 }, { ...call, counts })],
    utterances,
    tags,
    metadata,
    udfs: metadata.flatMap(udfOf),
    contacts,
    // Without rules the list is a field like any unknown one.
    redactions: (input.rules ?? null) === null ? [] : flattenRedactions(keys, transcript),
    documents: documents ? [{ ...keys, document: read.json(document, 'document') ?? '{}' }] : [],
  };
  return { callTimestamp: at, rows };
};

/** The fields of a call that callsync does not know, as JSON. */
const extraOf = ({ document, processedField, read }: Call): string | null => {
  const names = Object.keys(document).filter(
    (name) => name !== processedField && name !== knownField && (name === 'qualified' || !callFields.has(name)),
  );
  for (const name of names) read.noteRounded(document[name], `extra.${name}`);
  return names.length === 0
    ? null
    : read.json(Object.fromEntries(names.map((name) => [name, document[name]])), 'extra');
};

const flattenRedactions = (keys: Row, transcript: Readonly<Record<string, unknown>> | undefined): Row[] =>
  readRedactions(transcript?.[redactionsField]).map(
    ([utterance_index, first_word, last_word, detector, detector_version], redaction_index) => {
      const place = { redaction_index, utterance_index, first_word, last_word, detector, detector_version };
      return { ...keys, ...place };
    },
  );

type Words = Readonly<Record<keyof WordArrays, readonly unknown[]>>;

/** Utterances with their words as arrays (interface §2.2). */
const readUtterances = (callData: unknown, read: FieldReader, cut?: ReadonlyMap<unknown, WordArrays>) =>
  read.array(callData, 'transcript_json.callData').map((utterance, index) => {
    const field = `transcript_json.callData[${index}]`;
    const value = read.element(utterance, field);
    const words = cut?.get(value.words) ?? wordArrays(read.array(value.words, `${field}.words`), field, read);
    return { value, field, index, words };
  });

/** Of lists that `cutWords` left: calls from the ledger, and words in another form. The usual field takes no call. */
const wordArrays = (words: readonly unknown[], field: string, read: FieldReader): Words => {
  const arrays: Record<keyof Words, unknown[]> = { value: [], start: [], length: [], score: [] };
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index];
    if (!isObject(word)) {
      arrays.value[index] = arrays.start[index] = arrays.length[index] = arrays.score[index] = null;
      read.note(`${field}.words[${index}]`, 'not an object');
      continue;
    }
    const { value, start, length, score } = word;
    arrays.value[index] =
      typeof value === 'string' ? cleanText(value) : read.text(value, `${field}.words[${index}].value`);
    arrays.start[index] = isPlain(start) ? start : read.numberText(start, `${field}.words[${index}].start`);
    arrays.length[index] = isPlain(length) ? length : read.numberText(length, `${field}.words[${index}].length`);
    arrays.score[index] = isPlain(score) ? score : read.numberText(score, `${field}.words[${index}].score`);
  }
  return arrays;
};

/** An exact number other than zero, whose sign could be negative and differ between warehouses. */
const isPlain = (value: unknown): value is number =>
  typeof value === 'number' && value !== 0 && Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** Longest metadata key that is kept whole: an index entry of the call id and the key has at most 2,704 bytes. */
const maxKeyLength = 512;
const maxKeyBytes = 1_024;

/** The beginning of a key and a hash of all of it, so that keys which begin alike stay two. */
const cutKey = (key: string): string => {
  const suffix = `~${hash('sha256', key).slice(0, 16)}`;
  let cut = key.slice(0, maxKeyLength - suffix.length).toWellFormed();
  while (Buffer.byteLength(cut) > maxKeyBytes - suffix.length) cut = cut.slice(0, cut.length - 16).toWellFormed();
  return cut + suffix;
};

/** Metadata by key. In key order: which of two keys that are cut or cleaned to the same text stays must not depend on the sender. */
const readMetadata = (metadata: unknown, read: FieldReader): ReadonlyMap<string, string | null> => {
  const values = new Map<string, string | null>();
  const given = read.object(metadata, 'metadata') ?? {};
  for (const rawKey of Object.keys(given).sort()) {
    const rawValue = given[rawKey];
    let key = read.clean(rawKey, 'metadata');
    if (key.length > maxKeyLength || Buffer.byteLength(key) > maxKeyBytes) {
      read.note('metadata', `a key longer than ${maxKeyLength} characters was cut`);
      key = cutKey(key);
    }
    values.set(
      key,
      typeof rawValue === 'string' ? read.clean(rawValue, 'metadata value') : read.freeJson(rawValue, 'metadata value'),
    );
  }
  return values;
};

/** The row of `udfs` that a row of `metadata` has, if its key is that of a user-defined field. */
const udfOf = (row: Row & { readonly key: string; readonly value: string | null }): Row[] => {
  const match = udfKey.exec(row.key);
  if (match === null) return [];
  const { call_id, call_timestamp, value } = row;
  const kind = match[1] as string;
  const number = kind === 'num' && value !== null && value.trim() !== '' ? parseDecimal(value) : null;
  const udf = { kind, udf_index: Number(match[2]), value_number: number ?? null, value_text: value };
  return [{ call_id, call_timestamp, ...udf, unparsable: number === undefined }];
};

// Ledger row → rows of table `changes`: field, time and source of each change, never a value. Pure.

const sources = Object.keys(sourceRank) as ObservationSource[];
const sourceOf = (rank: number): ObservationSource => sources.find((source) => sourceRank[source] === rank) ?? 'import';

/** Table keys must fit an index entry. Names that a sender chose are not shown to everybody. */
const plainName = /^[\w.-]{1,64}$/;

/**
 * One row for the first revision, and one for the last change of each field that has changed since. Rows of a call are told
 * apart by field, time and source, also those of several fields without a plain name.
 * @param callTimestamp microseconds since the epoch, as the call's other rows have it.
 */
export const flattenChanges = (row: LedgerRow, callTimestamp: number | null): readonly Row[] => {
  const { callId, firstSeenAt, seenBy } = row;
  const keys = { call_id: callId, call_timestamp: callTimestamp };
  const rows = new Map<string, Row>();
  if (firstSeenAt !== null) {
    const source = sources.findLast((one) => seenBy[one] === firstSeenAt) ?? 'import';
    rows.set(allFields, { ...keys, field: allFields, revision: 1, source, observed_at: firstSeenAt, kind: 'added' });
  }
  for (const [name, [revision, observedAt, rank, kind = null]] of Object.entries(row.fieldChanges)) {
    const field = plainName.test(name) ? name : 'extra';
    const key = `${field} ${observedAt} ${rank}`;
    if (!rows.has(key))
      rows.set(key, { ...keys, field, revision, source: sourceOf(rank), observed_at: observedAt, kind });
  }
  return [...rows.values()];
};

const maxIssues = 50;

/** JSON.parse has already rounded such numbers, so their exact digits are lost. */
const holdsRounded = (value: unknown, depth: number): boolean => {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null || depth > maxJsonDepth) return false;
  return Object.values(value).some((part) => holdsRounded(part, depth + 1));
};

/** Null and absent read as null without an issue. Reasons name types, never values: those may be personal. */
class FieldReader {
  /** As JSON. */
  private readonly issues: string[] = [];
  /** The part of the record that is read: fields are named from there. */
  within = '';

  note(name: string, reason: string): null {
    const field = this.within === '' ? name : `${this.within}.${name}`;
    this.issues.push(JSON.stringify({ field, reason }));
    return null;
  }

  /** The issues as JSON, null without any. Sorted, so that they do not depend on the order in which fields were read. */
  issuesText(): string | null {
    if (this.issues.length === 0) return null;
    return `[${this.issues.sort().slice(0, maxIssues).join(',')}]`;
  }

  private wrong(field: string, expected: string, value: unknown): null {
    return this.note(field, `expected ${expected}, got ${new JsonRecord({ value }).type('value')}`);
  }

  clean(value: string, field: string): string {
    const clean = cleanText(value);
    if (clean !== value) this.note(field, 'characters that cannot be stored were replaced');
    return clean;
  }

  text(value: unknown, field: string): string | null {
    if (typeof value === 'string') return this.clean(value, field);
    return value == null ? null : this.wrong(field, 'text', value);
  }

  number(value: unknown, field: string): number | null {
    if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : this.note(field, 'number out of range');
    return value == null ? null : this.wrong(field, 'a number', value);
  }

  /** A number, or text that holds one; empty text is no value. */
  numberText(value: unknown, field: string): number | null {
    if (typeof value !== 'string' && typeof value !== 'number') return this.number(value, field);
    if (typeof value === 'string' && value.trim() === '') return null;
    const parsed = typeof value === 'string' ? parseNumber(value) : value;
    this.noteRounded(parsed, field);
    return parsed === undefined ? this.note(field, 'text is not a number') : this.number(parsed, field);
  }

  boolText(value: unknown, field: string): boolean | null {
    if (typeof value === 'boolean') return value;
    if (value === 'true' || value === 'True' || value === 'TRUE') return true;
    if (value === 'false' || value === 'False' || value === 'FALSE') return false;
    return value == null || value === '' ? null : this.note(field, 'neither true nor false');
  }

  /** Microseconds since the epoch. */
  timestamp(value: unknown, field: string): number | null {
    if (value == null || value === '') return null;
    const at = parseTimestamp(value);
    if (at !== undefined) return at;
    return typeof value === 'string' ? this.note(field, 'not a date-time') : this.wrong(field, 'a date-time', value);
  }

  object(value: unknown, field: string): Record<string, unknown> | undefined {
    if (isObject(value)) return value;
    if (value != null) this.wrong(field, 'an object', value);
    return undefined;
  }

  array(value: unknown, field: string): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (value != null) this.wrong(field, 'an array', value);
    return [];
  }

  /** An element of a list of objects; null does not count. */
  element(value: unknown, field: string): Record<string, unknown> {
    if (isObject(value)) return value;
    this.wrong(field, 'an object', value);
    return {};
  }

  /** As `json`, for a value that may hold any numbers: reports whole numbers that a double cannot hold. */
  freeJson(value: unknown, field: string): string | null {
    this.noteRounded(value, field);
    return this.json(value, field);
  }

  noteRounded(value: unknown, field: string): void {
    if (holdsRounded(value, 0)) this.note(cleanText(field), 'a whole number beyond 2^53 may have lost its last digits');
  }

  /** Any value as JSON text; null and absent are null. */
  json(value: unknown, field: string): string | null {
    if (value == null) return null;
    try {
      return JSON.stringify(cleanJson(value));
    } catch {
      return this.note(field, 'nested too deeply');
    }
  }
}

/**
 * Cleans every text and key of a JSON value and sorts its keys by code units, so that equal values read the same.
 * @throws RangeError past `maxJsonDepth`.
 */
const cleanJson = (value: unknown, depth = 0): unknown => {
  if (depth > maxJsonDepth) throw new RangeError('nested too deeply');
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, depth + 1));
  if (value !== null && typeof value === 'object') {
    const members = value as Readonly<Record<string, unknown>>;
    const names = Object.keys(members).sort();
    const pairs = names.map((name) => [cleanText(name), cleanJson(members[name], depth + 1)] as const);
    const isClean = pairs.every(([name], index) => name === names[index]);
    return Object.fromEntries(isClean ? pairs : pairs.sort(([a], [b]) => (a < b ? -1 : Number(a > b))));
  }
  return value;
};

/** Digits on each side of the point that every warehouse's decimal type holds. */
const maxDecimalDigits = 38;

/** As every warehouse's decimal type holds it. */
const parseDecimal = (text: string): string | undefined => {
  const plain = plainDecimal(text);
  const sides = plain?.replace('-', '').split('.') ?? [];
  return sides.every(({ length }) => length <= maxDecimalDigits) ? plain : undefined;
};

/** Number text (`"123"`, as duration is sent, §2.1) → number. */
const parseNumber = (text: string): number | undefined => {
  const value = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
};

/** The token that replaces a telephone number under privacy rules: already the same for the same number. */
const phoneToken = /^ph_[a-z0-9]+_[a-z2-7]{52}$/;

/** Telephone number without separators; a leading + (or 00, its equivalent) is kept as +, and a token as it is. */
const normalizePhone = (text: string): string | undefined => {
  if (phoneToken.test(text)) return text;
  const digits = text.replace(/\D+/g, '');
  if (digits === '') return undefined;
  if (text.trim().startsWith('+')) return `+${digits}`;
  return digits.startsWith('00') && digits.length > 4 ? `+${digits.slice(2)}` : digits;
};

// Reads the words of a transcript out of its bytes as columns. Most of a call is words. Parsing an object for each word
// took twice the time, and more than any other step of a load.

type CutWords = { -readonly [K in keyof WordArrays]: WordArrays[K][number][] };

const wordsKey = '"words":[';
const [valueKey, startKey, lengthKey, scoreKey] = (['value', 'start', 'length', 'score'] as const).map((name) =>
  Buffer.from(`"${name}":`),
) as [Buffer, Buffer, Buffer, Buffer];
/** A whole number of so many digits is a double, and so is this power of ten: their quotient is the nearest double. */
const exactDigits = 15;
const powers = Array.from({ length: exactDigits + 1 }, (_, digits) => 10 ** digits);

/**
 * @param json plain JSON (see `FieldSpan`).
 * @returns the parsed value with a place instead of each list of words, and the words by place. A list stays if one of
 * its words is anything but an object of a text and three numbers (interface §2.2).
 */
const cutWords = (json: Buffer) => {
  const words = new Map<unknown, CutWords>();
  const reader = new WordReader(json);
  let rest = '';
  let from = 0;
  for (let at = reader.text.indexOf(wordsKey); at >= 0; at = reader.text.indexOf(wordsKey, reader.at)) {
    const list = at + wordsKey.length;
    reader.at = list;
    const read = reader.list();
    if (read === undefined) continue;
    // No text of plain JSON has a NUL, so that a place is no value of its own.
    const place = `\0${words.size}`;
    words.set(place, read);
    rest += json.toString('utf8', from, list - 1) + JSON.stringify(place);
    from = reader.at;
  }
  return { value: JSON.parse(rest + json.toString('utf8', from)) as unknown, words };
};

/** Written for speed, because it visits every byte of the words. Methods begin at `at` and leave it behind their part. */
class WordReader {
  private readonly bytes: Buffer;
  /** A character for each byte. */
  readonly text: string;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.text = bytes.toString('latin1');
  }

  /** The words of a list, from behind its bracket. */
  list(): CutWords | undefined {
    const { bytes } = this;
    const words: CutWords = { value: [], start: [], length: [], score: [] };
    const { value, start, length, score } = words;
    if (bytes[this.at] === closeBracket) {
      this.at += 1;
      return words;
    }
    for (let count = 1; bytes[this.at] === openBrace; count += 1) {
      do {
        this.at += 1;
        const isRead =
          (this.skipKey(scoreKey) && this.number(score)) ||
          (this.skipKey(startKey) && this.number(start)) ||
          (this.skipKey(valueKey) && this.string(value)) ||
          (this.skipKey(lengthKey) && this.number(length));
        if (!isRead) return undefined;
      } while (bytes[this.at] === comma);
      if (bytes[this.at] !== closeBrace) return undefined;
      if (value.length !== count || start.length !== count || length.length !== count || score.length !== count)
        return undefined;
      this.at += 2;
      if (bytes[this.at - 1] === closeBracket) return words;
    }
    return undefined;
  }

  private skipKey(key: Buffer): boolean {
    const { bytes, at } = this;
    for (let index = 1; index < key.length; index += 1) if (bytes[at + index] !== key[index]) return false;
    this.at += key.length;
    return true;
  }

  private string(values: (string | null)[]): boolean {
    const { bytes, at } = this;
    if (bytes[at] !== quote) return false;
    let end = at + 1;
    let bits = 0;
    let isEscaped = false;
    for (let byte = bytes[end] as number; byte !== quote; byte = bytes[end] as number) {
      if (byte === backslash) {
        isEscaped = true;
        end += 1;
      }
      bits |= byte;
      end += 1;
    }
    this.at = end + 1;
    if (isEscaped) values.push(JSON.parse(bytes.toString('utf8', at, this.at)) as string);
    else values.push(bits < 0x80 ? this.text.slice(at + 1, end) : bytes.toString('utf8', at + 1, end));
    return true;
  }

  private number(values: (number | null)[]): boolean {
    const { bytes } = this;
    const start = this.at + (bytes[this.at] === minus ? 1 : 0);
    let at = start;
    let point = -1;
    let digits = 0;
    for (let byte = bytes[at] as number; ; byte = bytes[at] as number) {
      if (byte >= zero && byte <= nine) digits = digits * 10 + byte - zero;
      else if (byte === dot) point = at;
      else break;
      at += 1;
    }
    if (at === start || at - start > exactDigits) return false;
    const value = point < 0 ? digits : digits / (powers[at - point - 1] as number);
    values.push(start > this.at ? -value : value);
    this.at = at;
    return true;
  }
}
