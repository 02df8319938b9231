/**
 * One canonical text per row, equal for equal values in every warehouse, and one hash over the rows of a call. Load ids
 * are left out, because they are not data of the call.
 */

import { hash } from 'node:crypto';
import type { CallTableName, Column, Row, Table, WordArrays } from '../../schemas/tables.ts';
import { columnsOf, keptTables, tableOf, tables, wordsView } from '../../schemas/tables.ts';
import { plainDecimal } from '../lib/parse-json.ts';
import type { DigestedName, FlatRows, Warehouse } from './warehouse.ts';

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
  return ['float', 'int', 'timestamp'].includes(column.type) ? canonicalNumber(value) : value;
};

/** In PostgreSQL, each array can be null or longer than the others: as the view of words has them. */
const canonicalWords = ({ value, start, length, score }: WordArrays): unknown[] => {
  const numbers = [start, length, score];
  const words = Math.max(...[value, ...numbers].map((all) => all?.length ?? 0));
  const wordAt = (at: number) => [value?.[at] ?? null, ...numbers.map((all) => canonicalNumber(all?.[at] ?? null))];
  return Array.from({ length: words }, (_, at) => wordAt(at));
};

const canonicalNumber = (value: unknown): number | string | null => {
  if (value === null) return null;
  const number = Number(value);
  // JSON has no infinity.
  return Number.isFinite(number) ? number + 0 : String(number);
};

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
