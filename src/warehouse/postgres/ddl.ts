/** DDL of the analysts' schema, from the table definitions. Additive and idempotent. */
import { type Table, wordsView } from '../../../schemas/tables.ts';
import { columnsOf, type Layout, literal, type PhysicalColumn, qualified, quote, tablesOf } from './layout.ts';

const columnLine = (column: PhysicalColumn): string =>
  `${quote(column.name)} ${column.type}${column.required ? ' NOT NULL' : ''}`;

const createTable = (layout: Layout, table: Table): string => {
  const target = qualified(layout, table.name);
  const columns = columnsOf(table);
  const key = table.key.map(quote).join(', ');
  return `CREATE TABLE IF NOT EXISTS ${target} (\n  ${columns.map(columnLine).join(',\n  ')},\n  PRIMARY KEY (${key})\n)`;
};

const createTombstones = (layout: Layout): string =>
  `CREATE TABLE IF NOT EXISTS ${qualified(layout, 'tombstones')} (
  "call_key" text NOT NULL PRIMARY KEY,
  "ledger_epoch" integer NOT NULL,
  "revision" integer NOT NULL,
  "load_id" text NOT NULL,
  "erased_at" timestamptz NOT NULL DEFAULT now()
)`;

/** The query of the view `words`. */
export const wordsQuery = (
  layout: Layout,
): string => `SELECT u.call_id, u.call_timestamp, u.utterance_index, (w.position - 1)::integer AS word_index, u.side,
       w.value, w.start_offset, w.length, w.score
  FROM ${qualified(layout, 'utterances')} u
 CROSS JOIN LATERAL unnest(u.word_values, u.word_starts, u.word_lengths, u.word_scores)
       WITH ORDINALITY AS w(value, start_offset, length, score, position)`;

/** What a schema has: names of its relations (tables, views, indexes), each with its columns and comments. */
export interface Catalogue {
  readonly schema: boolean;
  readonly relations: ReadonlyMap<string, FoundRelation>;
  /** Whether the view `words` has the query that it should have. */
  readonly wordsCurrent: boolean;
}

export interface FoundRelation {
  readonly comment: string | null;
  readonly columns: ReadonlyMap<string, string | null>;
}

export interface Change {
  readonly name: string;
  readonly sql: string;
  /** Loads and queries need it; other changes may wait until nobody holds the table. */
  readonly urgent: boolean;
  readonly isDone: (found: Catalogue) => boolean;
}

/** Every statement that an empty database needs, in order, each with how to see that it is not needed. */
export const listChanges = (layout: Layout): readonly Change[] => {
  const tables = tablesOf(layout);
  const isThere = (name: string) => (found: Catalogue) => found.relations.has(name);
  const index = (name: string, on: string): Change => ({
    name: `index ${name}`,
    sql: `CREATE INDEX IF NOT EXISTS ${name} ON ${on}`,
    urgent: false,
    isDone: isThere(name),
  });
  return [
    {
      name: 'schema',
      sql: `CREATE SCHEMA IF NOT EXISTS ${quote(layout.schema)}`,
      urgent: true,
      isDone: (found) => found.schema,
    },
    ...tables.map((table) => ({
      name: `table ${table.name}`,
      sql: createTable(layout, table),
      urgent: true,
      isDone: isThere(table.name),
    })),
    { name: 'table tombstones', sql: createTombstones(layout), urgent: true, isDone: isThere('tombstones') },
    ...tables.flatMap((table) => columnsOf(table).map((column) => addColumn(layout, table, column))),
    {
      name: 'view words',
      sql: `CREATE OR REPLACE VIEW ${qualified(layout, wordsView.name)} AS\n${wordsQuery(layout)}`,
      urgent: false,
      isDone: (found) => found.relations.has(wordsView.name) && found.wordsCurrent,
    },
    index('loads_loaded_at', `${qualified(layout, 'loads')} (loaded_at)`),
    // After a restore of the ledger: the highest epoch, and the calls of loads that it does not know.
    index('calls_load', `${qualified(layout, 'calls')} (ledger_epoch, load_id)`),
    index('calls_call_timestamp', `${qualified(layout, 'calls')} (call_timestamp)`),
    index('deliveries_call_id', `${qualified(layout, 'deliveries')} (call_id)`),
    ...tables.flatMap((table) =>
      describe(layout, 'TABLE', table.name, `${table.description} Grain: ${table.grain}.`, columnsOf(table)),
    ),
    ...describe(layout, 'TABLE', 'tombstones', 'Erased calls by keyed hash of their id: no load brings them back.', []),
    ...describe(layout, 'VIEW', wordsView.name, wordsView.description, wordsView.columns),
  ];
};

/** For a table that an older version created; a required column arrives nullable. */
const addColumn = (layout: Layout, table: Table, column: PhysicalColumn): Change => ({
  name: `column ${table.name}.${column.name}`,
  sql: `ALTER TABLE ${qualified(layout, table.name)} ADD COLUMN IF NOT EXISTS ${quote(column.name)} ${column.type}`,
  urgent: true,
  isDone: ({ relations }) => relations.get(table.name)?.columns.has(column.name) === true,
});

const describe = (
  layout: Layout,
  kind: 'TABLE' | 'VIEW',
  name: string,
  description: string,
  columns: readonly { readonly name: string; readonly description: string }[],
): Change[] => [
  {
    name: `comment on ${name}`,
    sql: `COMMENT ON ${kind} ${qualified(layout, name)} IS ${literal(description)}`,
    urgent: false,
    isDone: ({ relations }) => relations.get(name)?.comment === description,
  },
  ...columns.map((column) => ({
    name: `comment on ${name}.${column.name}`,
    sql: `COMMENT ON COLUMN ${qualified(layout, name)}.${quote(column.name)} IS ${literal(column.description)}`,
    urgent: false,
    isDone: ({ relations }: Catalogue) => relations.get(name)?.columns.get(column.name) === column.description,
  })),
];
