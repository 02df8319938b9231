/** DDL of the analysts' schema, from the table definitions. Additive and idempotent. */
import { type Table, wordsView } from '../../../schemas/tables.ts';
import { columnsOf, type Layout, type PhysicalColumn, qualified, quote, tablesOf } from './layout.ts';

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const columnLine = (column: PhysicalColumn): string =>
  `${quote(column.name)} ${column.type}${column.required ? ' NOT NULL' : ''}`;

const createTable = (layout: Layout, table: Table): string => {
  const target = qualified(layout, table.name);
  const columns = columnsOf(table);
  const key = table.key.map(quote).join(', ');
  return `CREATE TABLE IF NOT EXISTS ${target} (\n  ${columns.map(columnLine).join(',\n  ')},\n  PRIMARY KEY (${key})\n)`;
};

/** Run after `addColumns`, which creates the columns that an older table lacks. */
const describeTable = (layout: Layout, table: Table): string[] => {
  const target = qualified(layout, table.name);
  const columns = columnsOf(table);
  return [
    `COMMENT ON TABLE ${target} IS ${literal(`${table.description} Grain: ${table.grain}.`)}`,
    ...columns.map((column) => `COMMENT ON COLUMN ${target}.${quote(column.name)} IS ${literal(column.description)}`),
  ];
};

/** One statement per missing column; `present` are the names that the table has. A required one arrives nullable. */
export const addColumns = (layout: Layout, table: Table, present: ReadonlySet<string>): string[] =>
  columnsOf(table)
    .filter((column) => !present.has(column.name))
    .map(
      (column) =>
        `ALTER TABLE ${qualified(layout, table.name)} ADD COLUMN IF NOT EXISTS ${quote(column.name)} ${column.type}`,
    );

const tombstones = (layout: Layout): string[] => {
  const target = qualified(layout, 'tombstones');
  return [
    `CREATE TABLE IF NOT EXISTS ${target} (
  "call_key" text NOT NULL PRIMARY KEY,
  "ledger_epoch" integer NOT NULL,
  "revision" integer NOT NULL,
  "load_id" text NOT NULL,
  "erased_at" timestamptz NOT NULL DEFAULT now()
)`,
    `COMMENT ON TABLE ${target} IS ${literal('Erased calls by keyed hash of their id: no load brings them back.')}`,
  ];
};

export const viewStatements = (layout: Layout): string[] => {
  const target = qualified(layout, wordsView.name);
  return [
    `CREATE OR REPLACE VIEW ${target} AS
SELECT u.call_id, u.call_timestamp, u.utterance_index, (w.position - 1)::integer AS word_index, u.side,
       w.value, w.start_offset, w.length, w.score
  FROM ${qualified(layout, 'utterances')} u
 CROSS JOIN LATERAL unnest(u.word_values, u.word_starts, u.word_lengths, u.word_scores)
       WITH ORDINALITY AS w(value, start_offset, length, score, position)`,
    `COMMENT ON VIEW ${target} IS ${literal(wordsView.description)}`,
    ...wordsView.columns.map(
      (column) => `COMMENT ON COLUMN ${target}.${quote(column.name)} IS ${literal(column.description)}`,
    ),
  ];
};

const indexes = (layout: Layout): string[] => [
  `CREATE INDEX IF NOT EXISTS calls_call_timestamp ON ${qualified(layout, 'calls')} (call_timestamp)`,
  `CREATE INDEX IF NOT EXISTS deliveries_call_id ON ${qualified(layout, 'deliveries')} (call_id)`,
];

/** Schema, tables and indexes, in order. */
export const createStatements = (layout: Layout): string[] => [
  `CREATE SCHEMA IF NOT EXISTS ${quote(layout.schema)}`,
  ...tablesOf(layout).map((table) => createTable(layout, table)),
  ...tombstones(layout),
  ...indexes(layout),
];

export const describeStatements = (layout: Layout): string[] =>
  tablesOf(layout).flatMap((table) => describeTable(layout, table));
