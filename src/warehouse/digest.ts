/**
 * One canonical text per row, equal for equal values in every warehouse, and one hash over the rows of a call. Load ids
 * are left out, because they are not data of the call.
 */

import { hash } from 'node:crypto';
import type { CallTableName, Column, Row, Table, WordArrays } from '../../schemas/tables.ts';
import { callTables, columnsOf, keptTables, tableOf, tables, wordsView } from '../../schemas/tables.ts';
import { plainDecimal } from '../lib/parse-json.ts';
import type { CallDigest, DigestedName, FlatRows, Warehouse } from './warehouse.ts';

/**
 * The columns that readers return and digests cover, in order: those of the definition, then, for `calls`, the guard.
 * Columns that each warehouse has of its own are left out. `words` is the relation of one row per word.
 */
export const digestedColumns = (name: DigestedName): readonly Column[] =>
  columnsOf(name === 'words' ? wordsView : tableOf(name)).filter(({ name: column }) => !ownColumns.includes(column));

const ownColumns: readonly string[] = ['load_id', 'visible_at'];

/** The values of these columns, in their order. */
export const canonicalRow = (columns: readonly Column[], row: Row): string =>
  JSON.stringify(columns.map((column) => canonicalValue(column, row[column.name])));

/** Rows of every table and of the view `words`. @param documents whether the warehouse keeps whole documents */
export const countRows = async (warehouse: Pick<Warehouse, 'query'>, documents = false) => {
  const names = tables.map(({ name }) => name).filter((name) => documents || name !== 'documents');
  const count = async (select: string): Promise<number> => Number((await warehouse.query(select))[0]?.n);
  const counts = await Promise.all(names.map(async (name) => [name, await count(`SELECT COUNT(*) AS n FROM ${name}`)]));
  // Unpacks no array, so it is cheaper than the view.
  const words = await count('SELECT COALESCE(SUM(word_count), 0) AS n FROM utterances');
  return { ...Object.fromEntries(counts), words };
};

const canonicalValue = (column: Column, value: unknown): unknown => {
  // A repeated field of BigQuery cannot be null, so no words and an empty list of words are the same.
  if (column.type === 'words') return value == null ? [] : canonicalWords(value as WordArrays);
  if (value === null || value === undefined) return null;
  if (column.type === 'json') return sortKeys(JSON.parse(value as string));
  if (column.type === 'decimal') return canonicalDecimal(String(value));
  return ['float', 'int', 'timestamp'].includes(column.type) ? canonicalNumber(Number(value)) : value;
};

/** One text for equal JSON values, independent of key order and number format. */
const canonicalJson = (text: string): string => JSON.stringify(sortKeys(JSON.parse(text)));

const canonicalWords = ({ value, start, length, score }: WordArrays): unknown[] =>
  value.map((word, at) => [word, start[at] ?? null, length[at] ?? null, score[at] ?? null]);

const canonicalNumber = (value: number): number => (value === 0 ? 0 : value);

const sortKeys = (value: unknown): unknown => {
  if (typeof value === 'number') return canonicalNumber(value);
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  // Pairs, not an object: assigning a key such as `__proto__` or `10` would lose it or its place.
  const members = Object.entries(value).map(([key, member]) => [key, sortKeys(member)] as const);
  return { members: members.sort(([a], [b]) => (a < b ? -1 : 1)) };
};

/** One text for equal decimals; a text that is none stays. */
export const canonicalDecimal = (text: string): string => plainDecimal(text) ?? text;

/** `documents` is left out, because a warehouse may be configured without it. */
export const contentTables = keptTables(false) as readonly (Table & {
  readonly name: Exclude<CallTableName, 'documents'>;
})[];

/**
 * One hash over the rows of a call, stored beside its guard: a restored ledger can make rows with equal guards and different
 * content. SHA-256 (first 128 bits, base64url) over every column of every row that flatten made, in their order. Equal for equal
 * values, as flatten sorts the keys of JSON. Pure; fast enough to be computed at each load (about 0.1 ms a call).
 */
export const contentHash = (rows: FlatRows): string => {
  const content: Content = { numbers: scratch, count: 0, text: '' };
  for (const table of contentTables) {
    addNumber(content, rows[table.name].length);
    for (const row of rows[table.name]) addRow(content, table, row);
  }
  scratch = content.numbers;
  const numbers = hash('sha256', content.numbers.subarray(0, content.count), 'base64url');
  return hash('sha256', numbers + content.text, 'base64url').slice(0, 22);
};

/** Texts are joined without separators: their lengths are among the numbers. Null is NaN, which no column holds. */
type Content = { numbers: Float64Array; count: number; text: string };

/** Reused between calls, so that a load does not allocate one for each. */
let scratch: Float64Array = new Float64Array(16_384);

const reserve = (content: Content, more: number): void => {
  if (content.count + more <= content.numbers.length) return;
  const larger = new Float64Array(2 * (content.count + more));
  larger.set(content.numbers);
  content.numbers = larger;
};

const addRow = (content: Content, { columns }: Table, row: Row): void => {
  for (const { name, type } of columns) {
    const value = row[name];
    if (type === 'words') addWords(content, value as WordArrays);
    else if (typeof value === 'string') addText(content, value);
    else addNumber(content, value === null || value === undefined ? Number.NaN : Number(value));
  }
};

const addNumber = (content: Content, value: number): void => {
  reserve(content, 1);
  content.numbers[content.count] = value;
  content.count += 1;
};

const addText = (content: Content, text: string): void => {
  addNumber(content, text.length);
  content.text += text;
};

/** The hot loop: most of a call is words. */
const addWords = (content: Content, { value, start, length, score }: WordArrays): void => {
  reserve(content, 1 + 4 * value.length);
  const { numbers } = content;
  let at = content.count;
  numbers[at++] = value.length;
  for (let index = 0; index < value.length; index += 1) {
    numbers[at++] = value[index]?.length ?? Number.NaN;
    numbers[at++] = start[index] ?? Number.NaN;
    numbers[at++] = length[index] ?? Number.NaN;
    numbers[at++] = score[index] ?? Number.NaN;
  }
  content.count = at;
  // A null is no text here.
  content.text += value.join('');
};

// Digests of the rows of a call, one a table, computed by SQL in the warehouse. Reconcile compares them with the ledger
// without reading transcripts. Guards are compared separately. The text of a row is its columns in order: `-` for null,
// else `BYTES:TEXT`. The hash of a row is the SHA-256 of that text in hex. JSON has no common text in SQL, so callsync
// reads JSON columns, and hashes the first hash with their canonical JSON. The digest of a table is the SHA-256 of the
// sorted hashes.

type CallTable = (typeof callTables)[number];

/** Results of a warehouse: hash and JSON of one row, or the digest of a whole table without JSON columns. */
interface DigestPart {
  readonly callId: string;
  readonly table: string;
  readonly hash: string;
  /** In the order of `jsonColumns`. */
  readonly json: readonly (string | null)[];
}

/** SQL of one warehouse for the texts above. Expressions are without side effects and may be repeated. */
export interface DigestExpressions {
  /** A table or view, as SQL names it. */
  readonly relation: (name: string) => string;
  /** In the order of bytes. */
  readonly ordered: (text: string) => string;
  /** Text of a column of row `r`, or null. */
  readonly text: (column: Column) => string;
  readonly json: (column: Column) => string;
  /** `-`, or byte length, colon and text. */
  readonly field: (text: string) => string;
  readonly sha256: (text: string) => string;
  readonly concat: (texts: readonly string[]) => string;
  /** The hashes `h` of a group in the order of their bytes, without separators. */
  readonly joinHashes: string;
  /** A null of type text. */
  readonly none: string;
  /** The text of words, as `text` gives it in SQL. */
  readonly wordsText: (words: WordArrays) => string;
}

/** Rows of a call from flatten as a warehouse digests them. `documents`: whether it keeps whole documents. */
type DigestRules = Pick<DigestExpressions, 'wordsText'> & { readonly documents: boolean };

/** The digests of the rows that flatten made. Pure; the definition that both warehouses follow. */
export const digestCall = (callId: string, rows: FlatRows, { documents, wordsText }: DigestRules): CallDigest => ({
  callId,
  tables: Object.fromEntries(
    keptTables(documents).map((table) => [
      table.name,
      joinHashes(rows[table.name].map((row) => hashRow(table, row, wordsText))),
    ]),
  ),
});

/**
 * One query over all tables; columns `call_id`, `relation`, `digest` and `json_0` … as in `DigestPart`. Returns rows in the
 * order of call ids. @param of.where condition on row `r`
 */
export const digestSql = (dialect: DigestExpressions, { documents, where }: { documents: boolean; where: string }) => {
  const selects = keptTables(documents).map((table) => selectParts(dialect, table, where));
  return `SELECT * FROM (\n${selects.join('\nUNION ALL\n')}\n) AS parts\nORDER BY ${dialect.ordered('parts.call_id')}`;
};

/** Puts the parts of each call together. `parts` must come in the order of call ids. */
export async function* collectDigests(parts: AsyncIterable<DigestPart>, documents: boolean): AsyncIterable<CallDigest> {
  const tables = keptTables(documents);
  let current: CollectedCall | undefined;
  for await (const part of parts) {
    if (current !== undefined && current.callId !== part.callId) yield finish(current, tables);
    if (current?.callId !== part.callId) current = { callId: part.callId, hashes: new Map(), digests: {} };
    const table = tables.find(({ name }) => name === part.table);
    if (table === undefined) continue;
    if (jsonColumns(table).length === 0) current.digests[part.table] = part.hash;
    else
      current.hashes.set(part.table, [...(current.hashes.get(part.table) ?? []), hashWithJson(part.hash, part.json)]);
  }
  if (current !== undefined) yield finish(current, tables);
}

/** The columns of a record returned by `digestSql`. */
export const partOf = (record: Readonly<Record<string, unknown>>): DigestPart => ({
  callId: record.call_id as string,
  table: record.relation as string,
  hash: record.digest as string,
  json: jsonNames.map((name) => record[name] as string | null),
});

const jsonColumns = ({ columns }: CallTable): readonly Column[] => columns.filter(({ type }) => type === 'json');
const jsonNames = Array.from(
  { length: Math.max(...callTables.map((table) => jsonColumns(table).length)) },
  (_, index) => `json_${index}`,
);

const selectParts = (dialect: DigestExpressions, table: CallTable, where: string): string => {
  const fields = table.columns
    .filter(({ type }) => type !== 'json')
    .map((column) => dialect.field(dialect.text(column)));
  const rowHash = dialect.sha256(dialect.concat(fields));
  const json = jsonColumns(table);
  const from = `FROM ${dialect.relation(table.name)} AS r\n  WHERE ${where}`;
  const columns = jsonNames.map((name, index) => {
    const column = json[index];
    return `${column === undefined ? dialect.none : dialect.json(column)} AS ${name}`;
  });
  if (json.length > 0)
    return `SELECT r.call_id AS call_id, '${table.name}' AS relation, ${rowHash} AS digest,
  ${columns.join(', ')}
  ${from}`;
  return `SELECT g.call_id AS call_id, '${table.name}' AS relation, ${dialect.sha256(dialect.joinHashes)} AS digest,
  ${columns.join(', ')}
FROM (
  SELECT r.call_id AS call_id, ${rowHash} AS h
  ${from}
) AS g
GROUP BY g.call_id`;
};

type CollectedCall = { callId: string; hashes: Map<string, string[]>; digests: Record<string, string> };

const finish = (call: CollectedCall, tables: readonly CallTable[]): CallDigest => ({
  callId: call.callId,
  tables: Object.fromEntries(
    tables.map(({ name }) => [name, call.digests[name] ?? joinHashes(call.hashes.get(name) ?? [])]),
  ),
});

const sha256 = (text: string): string => hash('sha256', text, 'hex');

const joinHashes = (hashes: readonly string[]): string => sha256([...hashes].sort().join(''));

const hashRow = (table: CallTable, row: Row, wordsText: DigestRules['wordsText']): string => {
  let text = '';
  const json: (string | null)[] = [];
  for (const column of table.columns) {
    if (column.type === 'json') json.push((row[column.name] ?? null) as string | null);
    else if (column.type === 'words') text += fieldOf(wordsText(row[column.name] as WordArrays));
    else text += fieldOf(textOf(column, row[column.name]));
  }
  return json.length === 0 ? sha256(text) : hashWithJson(sha256(text), json);
};

/** SQL gives every row as many JSON values as the table with the most; those past the table's own are null. */
const hashWithJson = (rowHash: string, json: readonly (string | null)[]): string => {
  const texts = jsonNames.map((_, index) => json[index] ?? null);
  return sha256(rowHash + texts.map((text) => fieldOf(text === null ? null : canonicalJson(text))).join(''));
};

/** A value after its length in bytes, so that no two rows have the same text; null is a dash. */
export const fieldOf = (text: string | null): string => (text === null ? '-' : `${Buffer.byteLength(text)}:${text}`);

const textOf = (column: Column, value: unknown): string | null => {
  if (value === null || value === undefined) return null;
  if (column.type === 'float') return floatText(Number(value));
  return column.type === 'decimal' ? canonicalDecimal(String(value)) : String(value);
};

/** 17 significant digits, which tell any two doubles apart; the exponent has two digits at least. */
export const floatText = (value: number): string =>
  value === 0 ? '0' : value.toExponential(16).replace(/e([+-])(\d)$/, 'e$10$2');
