/**
 * Questions to every warehouse, in SQL with a few different expressions: guards, ids, orphans, rows of calls, whole tables,
 * and remains of erased calls.
 */

import { type Column, childTables, keptTables, type Row } from '../../schemas/tables.ts';
import { digestedColumns } from './content-hash.ts';
import { digestCall, readDigests } from './digest.ts';
import type { DigestedName, GuardRange, IdRange, Proof, TablePart } from './warehouse.ts';

/** Expressions over a row are given its alias. */
export interface QueryDialect {
  /** A table or view, as SQL names it. */
  readonly relation: (name: string) => string;
  /** In the order of bytes. */
  readonly ordered: (text: string) => string;
  /** Microseconds of an instant; an instant of microseconds. */
  readonly micros: (instant: string) => string;
  readonly instant: (micros: number) => string;
  /** Whether a text is one of the requested ids. `unlogged` keeps them out of statement logs. */
  readonly isAsked: (text: string, how?: 'unlogged') => string;
  /** The rows that are under these UTC dates, or may be; undefined = any. */
  readonly within: (alias: string, dates: Dates) => string;

  /** A join of `NAME_rows`, whose `n` is the number of rows that a call `c` has in a table; null or 0 = none. */
  readonly joinCounts: (table: string, where: (alias: string) => string) => string;
  /** Rows `t` in one of so many parts of a table; absent where any part is read, and billed, like the whole. */
  readonly inPart?: (table: string, part: TablePart) => string;
  /** A column of row `t` as a value that `readRow` takes. */
  readonly column: (column: Column) => string;
}

type Dates = Iterable<string | null> | undefined;

/** Runs a query; `isAsked` compares with `ids`. Rows come in the order of ids if the query sorts by them. */
export type Ask = (sql: string, ids?: readonly string[], how?: 'unlogged') => AsyncIterable<Record<string, unknown>>;

type Reading = Omit<Proof, 'removeCalls' | 'removeOrphans'>;

interface ReadingParts {
  readonly dialect: QueryDialect;
  readonly ask: Ask;
  readonly documents: boolean;
  /** Further tables with rows of calls, without a definition in schemas/tables.ts. */
  readonly moreTables?: () => Promise<readonly string[]>;
}

/** These methods of `Proof`. Each rejects with the errors of `ask`. */
export const createReading = ({ dialect, ask, documents, moreTables }: ReadingParts): Reading => ({
  async *listGuards(range) {
    const rows = ask(guardsSql(dialect, documents, range), 'callIds' in range ? range.callIds : undefined);
    for await (const row of rows)
      yield {
        callId: row.call_id as string,
        callTimestamp: row.call_timestamp as number | null,
        epoch: row.ledger_epoch as number,
        revision: row.revision as number,
        flattenVersion: row.flatten_version as number,
        contentHash: row.content_hash as string | null,
        childRows: Object.fromEntries(childTables(documents).map(({ name }) => [name, Number(row[`${name}_rows`])])),
      };
  },
  async *listChangeTimes(callIds) {
    for await (const row of ask(changeTimesSql(dialect), callIds))
      yield { callId: row.call_id as string, revision: Number(row.revision), loadedAt: Number(row.loaded_at) };
  },
  async *listCallIds(range) {
    for await (const row of ask(callIdsSql(dialect, range))) yield row.call_id as string;
  },
  async *listOrphans(part = { part: 0, of: 1 }) {
    if (part.part > 0 && dialect.inPart === undefined) return;
    for await (const row of ask(orphansSql(dialect, documents, part))) yield row.call_id as string;
  },
  digestOf: (callId, rows) => digestCall(callId, rows, documents),
  digestCalls: (callIds, dates) =>
    readDigests((name, ids) => ask(callRowsSql(dialect, name, dates), ids) as AsyncIterable<Row>, callIds, documents),
  async rowsLeft(callIds, dates) {
    const more = (await moreTables?.()) ?? [];
    let left = 0;
    for await (const row of ask(rowsLeftSql(dialect, documents, dates, more), callIds, 'unlogged'))
      left += Number(row.n);
    return left;
  },
  rowsOf: (name) => ask(rowsSql(dialect, name)) as AsyncIterable<Row>,
});

const inRange = (
  { instant }: QueryDialect,
  alias: string,
  { from, to }: { readonly from: number; readonly to: number },
) => `${alias}.call_timestamp >= ${instant(from)} AND ${alias}.call_timestamp < ${instant(to)}`;

const guardsSql = (dialect: QueryDialect, documents: boolean, range: GuardRange): string => {
  const { relation, micros, isAsked, ordered, joinCounts } = dialect;
  const where = (alias: string) => ('callIds' in range ? isAsked(`${alias}.call_id`) : inRange(dialect, alias, range));
  const children = childTables(documents).map(({ name }) => name);
  return `SELECT
  c.call_id AS call_id,
  ${micros('c.call_timestamp')} AS call_timestamp,
  c.ledger_epoch AS ledger_epoch,
  c.revision AS revision,
  c.flatten_version AS flatten_version,
  c.content_hash AS content_hash,
  ${children.map((name) => `COALESCE(${name}_rows.n, 0) AS ${name}_rows`).join(',\n  ')}
FROM ${relation('calls')} AS c
${children.map((name) => joinCounts(name, where)).join('\n')}
WHERE ${where('c')}
ORDER BY ${ordered('c.call_id')}`;
};

const changeTimesSql = ({ relation, micros, isAsked }: QueryDialect): string => `SELECT
  t.call_id AS call_id,
  t.revision AS revision,
  ${micros('MIN(t.loaded_at)')} AS loaded_at
FROM ${relation('changes')} AS t
WHERE ${isAsked('t.call_id')} AND t.loaded_at IS NOT NULL
GROUP BY t.call_id, t.revision`;

const callIdsSql = (dialect: QueryDialect, range: IdRange): string => {
  const { relation, ordered } = dialect;
  const where =
    range === 'undated' ? 'c.call_timestamp IS NULL' : range === 'all' ? 'TRUE' : inRange(dialect, 'c', range);
  return `SELECT c.call_id AS call_id FROM ${relation('calls')} AS c WHERE ${where} GROUP BY c.call_id ORDER BY ${ordered('c.call_id')}`;
};

const orphansSql = ({ relation, ordered, inPart }: QueryDialect, documents: boolean, part: TablePart): string => {
  const selects = childTables(documents).map(
    ({ name }) => `SELECT t.call_id AS call_id FROM ${relation(name)} AS t
LEFT JOIN ${relation('calls')} AS c ON c.call_id = t.call_id
  AND (c.call_timestamp = t.call_timestamp OR (c.call_timestamp IS NULL AND t.call_timestamp IS NULL))
WHERE c.call_id IS NULL${inPart === undefined ? '' : ` AND ${inPart(name, part)}`}`,
  );
  return `SELECT o.call_id AS call_id FROM (\n${selects.join('\nUNION DISTINCT\n')}\n) AS o\nORDER BY ${ordered('o.call_id')}`;
};

/** A delivery and its call have different dates. */
const rowsLeftSql = (dialect: QueryDialect, documents: boolean, dates: Dates, more: readonly string[] = []): string => {
  const { relation, within, isAsked } = dialect;
  const dated = [...keptTables(documents).map(({ name }) => name), 'changes'];
  const counts = [...dated, 'deliveries', ...more].map((name) => {
    const where = `${within('t', dated.includes(name) ? dates : undefined)} AND ${isAsked('t.call_id', 'unlogged')}`;
    return `SELECT COUNT(*) AS n FROM ${relation(name)} AS t WHERE ${where}`;
  });
  return `SELECT SUM(x.n) AS n FROM (\n${counts.join('\nUNION ALL\n')}\n) AS x`;
};

/** Every row of a relation, orphans included; values as flatten makes them. */
const rowsSql = ({ relation, column }: QueryDialect, name: DigestedName): string =>
  `SELECT ${digestedColumns(name)
    .map((one) => `${column(one)} AS ${one.name}`)
    .join(', ')} FROM ${relation(name)} AS t`;

const callRowsSql = (dialect: QueryDialect, name: DigestedName, dates: Dates): string =>
  `${rowsSql(dialect, name)} WHERE ${dialect.within('t', dates)} AND ${dialect.isAsked('t.call_id')}`;

/** The statements of this file, for review. */
export const readingSql = {
  ...{ guardsSql, changeTimesSql, callIdsSql, orphansSql, rowsLeftSql, rowsSql, callRowsSql },
  namesOf: (documents: boolean) => [...keptTables(documents).map(({ name }) => name), 'words' as const],
};
