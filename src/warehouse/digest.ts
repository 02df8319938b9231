/**
 * Digests of the rows of a call, one a table, computed by SQL in the warehouse. Reconcile compares them with the ledger
 * without reading transcripts. Guards are compared separately. The text of a row is its columns in order: `-` for null,
 * else `BYTES:TEXT`. The hash of a row is the SHA-256 of that text in hex. JSON has no common text in SQL, so callsync
 * reads JSON columns, and hashes the first hash with their canonical JSON. The digest of a table is the SHA-256 of the
 * sorted hashes.
 */
import { hash } from 'node:crypto';
import { type Column, callTables, keptTables, type Row, type WordArrays } from '../../schemas/tables.ts';
import { canonicalDecimal, canonicalJson } from './content-hash.ts';
import type { CallDigest, FlatRows } from './warehouse.ts';

type CallTable = (typeof callTables)[number];

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
 * One query over all tables. `digest` = the hash of one row without its JSON columns, which stand in `json_0` …, or the digest
 * of a whole table without any. Rows come in the order of call ids. @param of.where condition on row `r`
 */
export const digestSql = (dialect: DigestExpressions, { documents, where }: { documents: boolean; where: string }) => {
  const selects = keptTables(documents).map((table) => selectParts(dialect, table, where));
  return `SELECT * FROM (\n${selects.join('\nUNION ALL\n')}\n) AS parts\nORDER BY ${dialect.ordered('parts.call_id')}`;
};

/** Puts the rows of `digestSql` together, call by call. */
export async function* collectDigests(rows: AsyncIterable<Readonly<Record<string, unknown>>>, documents: boolean) {
  const tables = keptTables(documents);
  let current: CollectedCall | undefined;
  for await (const row of rows) {
    const callId = row.call_id as string;
    const digest = row.digest as string;
    if (current !== undefined && current.callId !== callId) yield finish(current, tables);
    if (current?.callId !== callId) current = { callId, hashes: new Map(), digests: {} };
    const table = tables.find(({ name }) => name === row.relation);
    if (table === undefined) continue;
    const { name } = table;
    const json = jsonNames.map((one) => row[one] as string | null);
    if (jsonColumns(table).length === 0) current.digests[name] = digest;
    else current.hashes.set(name, [...(current.hashes.get(name) ?? []), hashWithJson(digest, json)]);
  }
  if (current !== undefined) yield finish(current, tables);
}

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
