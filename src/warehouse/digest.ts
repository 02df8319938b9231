/**
 * One canonical text per row, the same for the same values in every warehouse, and one hash over the rows of a call. Load ids are
 * left out: they say how a row came, not what it is.
 */
import { hash } from 'node:crypto';
import {
  type CallTableName,
  type Column,
  callTables,
  columnsOf,
  type Row,
  type Table,
  tableOf,
  tables,
  type WordArrays,
  wordsView,
} from '../../schemas/tables.ts';
import type { DigestedName, FlatRows, Warehouse } from './warehouse.ts';

/**
 * The columns that readers return and digests cover, in order: those of the definition, then, for `calls`, the guard
 * without the load id. `words` is the relation of one row per word.
 */
export const digestedColumns = (name: DigestedName): readonly Column[] =>
  columnsOf(name === 'words' ? wordsView : tableOf(name)).filter((column) => column.name !== 'load_id');

/** The values of these columns, in their order. */
export const canonicalRow = (columns: readonly Column[], row: Row): string =>
  JSON.stringify(columns.map((column) => canonicalValue(column, row[column.name])));

/** Rows of every table and of the view `words`. @param documents whether the warehouse keeps whole documents */
export const countRows = async (
  warehouse: Pick<Warehouse, 'query'>,
  documents = false,
): Promise<Record<string, number>> => {
  const names = tables.map(({ name }) => name).filter((name) => documents || name !== 'documents');
  const count = async (select: string): Promise<number> => Number((await warehouse.query(select))[0]?.n);
  const counts = await Promise.all(names.map(async (name) => [name, await count(`SELECT COUNT(*) AS n FROM ${name}`)]));
  // Cheaper than the view: no array is unpacked.
  const words = await count('SELECT COALESCE(SUM(word_count), 0) AS n FROM utterances');
  return { ...Object.fromEntries(counts), words };
};

const canonicalValue = (column: Column, value: unknown): unknown => {
  // A repeated field of BigQuery cannot be null, so no words and an empty list of words are the same.
  if (column.type === 'words') return canonicalWords(value as WordArrays | null);
  if (value === null || value === undefined) return null;
  switch (column.type) {
    case 'float':
    case 'int':
    case 'timestamp':
      return canonicalNumber(Number(value));
    case 'json':
      return sortKeys(JSON.parse(value as string));
    case 'decimal':
      return canonicalDecimal(String(value));
    default:
      return value;
  }
};

/** One text for equal JSON values, whatever the order of keys and the form of numbers. */
export const canonicalJson = (text: string): string => JSON.stringify(sortKeys(JSON.parse(text)));

const canonicalWords = (words: WordArrays | null | undefined): unknown[] => {
  if (words === null || words === undefined) return [];
  return words.value.map((value, index) => [
    value,
    words.start[index] ?? null,
    words.length[index] ?? null,
    words.score[index] ?? null,
  ]);
};

const canonicalNumber = (value: number): number => (value === 0 ? 0 : value);

const sortKeys = (value: unknown): unknown => {
  if (typeof value === 'number') return canonicalNumber(value);
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  // Pairs, not an object: assigning a key such as `__proto__` or `10` would lose it or its place.
  const members = Object.entries(value).map(([key, member]) => [key, sortKeys(member)] as const);
  return { members: members.sort(([a], [b]) => (a < b ? -1 : 1)) };
};

/** `-0012.500`, `+12.5` and `12.5e0` are one number; returns plain digits without needless zeros. */
export const canonicalDecimal = (text: string): string => {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text.trim());
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const cut = point <= 0 ? 1 : point;
  const integer = padded.slice(0, cut).replace(/^0+(?=\d)/, '');
  const rest = padded.slice(cut).replace(/0+$/, '');
  const plain = rest === '' ? integer : `${integer}.${rest}`;
  return sign === '-' && plain !== '0' ? `-${plain}` : plain;
};

/** `documents` is left out, because a warehouse may be configured without it. */
export const contentTables = callTables.filter(({ name }) => name !== 'documents') as readonly (Table & {
  readonly name: Exclude<CallTableName, 'documents'>;
})[];

/**
 * One hash over the rows of a call, stored beside its guard: a restored ledger can make rows with equal guards and different
 * content. SHA-256 (first 128 bits, base64url) over every column of every row that flatten made, in their order. Equal for equal
 * values: JSON up to the order of keys. Pure; fast enough to be computed at each load (about 0.1 ms a call).
 */
export const contentHash = (rows: FlatRows): string => {
  const content: Content = { numbers: scratch, count: 0, texts: [] };
  for (const table of contentTables) {
    addNumber(content, rows[table.name].length);
    for (const row of rows[table.name]) addRow(content, table, row);
  }
  scratch = content.numbers;
  const numbers = hash('sha256', content.numbers.subarray(0, content.count), 'base64url');
  return hash('sha256', numbers + content.texts.join(''), 'base64url').slice(0, 22);
};

/** Texts are joined without separators: their lengths are among the numbers. Null is NaN, which no column holds. */
interface Content {
  numbers: Float64Array;
  count: number;
  readonly texts: string[];
}

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
    else if (typeof value === 'string') addText(content, type === 'json' ? canonicalJson(value) : value);
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
  content.texts.push(text);
};

/** The hot loop: most of a call is words. */
const addWords = (content: Content, { value, start, length, score }: WordArrays): void => {
  reserve(content, 1 + 4 * value.length);
  const { numbers, texts } = content;
  let at = content.count;
  numbers[at++] = value.length;
  for (let index = 0; index < value.length; index += 1) {
    const word = value[index];
    numbers[at++] = word?.length ?? Number.NaN;
    numbers[at++] = start[index] ?? Number.NaN;
    numbers[at++] = length[index] ?? Number.NaN;
    numbers[at++] = score[index] ?? Number.NaN;
    if (typeof word === 'string') texts.push(word);
  }
  content.count = at;
};
