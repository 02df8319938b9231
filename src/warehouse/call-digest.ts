/**
 * Digests of the rows of a call, one a table, computed by SQL in the warehouse. Reconcile compares them with the
 * ledger without reading transcripts. Guards are compared separately.
 * The text of a row is its columns in order: `-` for null, else `BYTES:TEXT`. Its hash is the SHA-256 of that text in
 * hex. JSON has no common text in SQL, so JSON columns are read: the hash then covers the first hash and their
 * canonical JSON. The digest of a table is the SHA-256 of the sorted hashes.
 */
import { hash } from 'node:crypto';
import { type Column, callTables, type Row, type WordArrays } from '../../schemas/tables.ts';
import { canonicalDecimal, canonicalJson } from './digest.ts';
import type { CallDigest, FlatRows } from './warehouse.ts';

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
}

interface DigestDialect extends DigestExpressions {
  readonly relation: (table: string) => string;
  readonly ordered: (text: string) => string;
}

/**
 * The digests of the rows that flatten made. Pure; the definition that both warehouses follow.
 * @param documents whether the warehouse keeps whole documents; the same for all functions here.
 */
export const digestCall = (callId: string, rows: FlatRows, documents: boolean): CallDigest => ({
  callId,
  tables: Object.fromEntries(
    keptTables(documents).map((table) => [table.name, joinHashes(rows[table.name].map((row) => hashRow(table, row)))]),
  ),
});

/**
 * One query over all tables; columns `call_id`, `relation`, `digest` and `json_0` … as in `DigestPart`. Returns rows in the
 * order of call ids. @param of.where condition on row `r`
 */
export const digestSql = (
  dialect: DigestDialect,
  { documents, where }: { readonly documents: boolean; readonly where: string },
): string => {
  const selects = keptTables(documents).map((table) => selectParts(dialect, table, where));
  return `SELECT * FROM (\n${selects.join('\nUNION ALL\n')}\n) AS parts\nORDER BY ${dialect.ordered('parts.call_id')}`;
};

/** Puts the parts of each call together. `parts` must come in the order of call ids. */
export async function* collectDigests(parts: AsyncIterable<DigestPart>, documents: boolean): AsyncIterable<CallDigest> {
  const tables = keptTables(documents);
  let current: { callId: string; hashes: Map<string, string[]>; digests: Record<string, string> } | undefined;
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

const keptTables = (documents: boolean): readonly CallTable[] =>
  callTables.filter(({ name }) => documents || name !== 'documents');

const jsonColumns = ({ columns }: CallTable): readonly Column[] => columns.filter(({ type }) => type === 'json');
const jsonNames = Array.from(
  { length: Math.max(...callTables.map((table) => jsonColumns(table).length)) },
  (_, index) => `json_${index}`,
);

const selectParts = (dialect: DigestDialect, table: CallTable, where: string): string => {
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
  if (json.length > 0) {
    return `SELECT r.call_id AS call_id, '${table.name}' AS relation, ${rowHash} AS digest,
  ${columns.join(', ')}
  ${from}`;
  }
  return `SELECT g.call_id AS call_id, '${table.name}' AS relation, ${dialect.sha256(dialect.joinHashes)} AS digest,
  ${columns.join(', ')}
FROM (
  SELECT r.call_id AS call_id, ${rowHash} AS h
  ${from}
) AS g
GROUP BY g.call_id`;
};

const finish = (
  call: {
    readonly callId: string;
    readonly hashes: ReadonlyMap<string, readonly string[]>;
    readonly digests: Readonly<Record<string, string>>;
  },
  tables: readonly CallTable[],
): CallDigest => ({
  callId: call.callId,
  tables: Object.fromEntries(
    tables.map(({ name }) => [name, call.digests[name] ?? joinHashes(call.hashes.get(name) ?? [])]),
  ),
});

const sha256 = (text: string): string => hash('sha256', text, 'hex');

const joinHashes = (hashes: readonly string[]): string => sha256([...hashes].sort().join(''));

const hashRow = (table: CallTable, row: Row): string => {
  let text = '';
  const json: (string | null)[] = [];
  for (const column of table.columns) {
    if (column.type === 'json') json.push((row[column.name] ?? null) as string | null);
    else text += fieldOf(textOf(column, row[column.name]));
  }
  return json.length === 0 ? sha256(text) : hashWithJson(sha256(text), json);
};

/** SQL gives every row as many JSON values as the table with the most; those past the table's own are null. */
const hashWithJson = (rowHash: string, json: readonly (string | null)[]): string => {
  const texts = jsonNames.map((_, index) => json[index] ?? null);
  return sha256(rowHash + texts.map((text) => fieldOf(text === null ? null : canonicalJson(text))).join(''));
};

const fieldOf = (text: string | null): string => (text === null ? '-' : `${Buffer.byteLength(text)}:${text}`);

const textOf = (column: Column, value: unknown): string | null => {
  if (column.type === 'words') return wordsText(value as WordArrays | null);
  if (value === null || value === undefined) return null;
  if (column.type === 'float') return floatText(Number(value));
  return column.type === 'decimal' ? canonicalDecimal(String(value)) : String(value);
};

/** 17 significant digits, which tell any two doubles apart; the exponent has two digits at least. */
const floatText = (value: number): string =>
  value === 0 ? '0' : value.toExponential(16).replace(/e([+-])(\d)$/, 'e$10$2');

const wordsText = (words: WordArrays | null): string => {
  let text = '';
  for (const [index, value] of (words?.value ?? []).entries()) {
    text += fieldOf(value);
    for (const numbers of [words?.start, words?.length, words?.score]) {
      const number = numbers?.[index] ?? null;
      text += fieldOf(number === null ? null : floatText(number));
    }
  }
  return text;
};
