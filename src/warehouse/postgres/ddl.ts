/** DDL of the analysts' schema, from the table definitions. Additive and idempotent. */
import { type Table, wordsView } from '../../../schemas/tables.ts';
import { columnsOf, type Layout, type PhysicalColumn, qualified, quote, tablesOf, wordsTable } from './layout.ts';

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const columnLine = (column: PhysicalColumn): string =>
  `${quote(column.name)} ${column.type}${column.required ? ' NOT NULL' : ''}`;

const createTable = (layout: Layout, name: string, table: Table): string[] => {
  const target = qualified(layout, name);
  const columns = columnsOf(table, layout);
  const key = table.key.map(quote).join(', ');
  return [
    `CREATE TABLE IF NOT EXISTS ${target} (\n  ${columns.map(columnLine).join(',\n  ')},\n  PRIMARY KEY (${key})\n)`,
  ];
};

/** After `addColumns`: a column that is new to a table that stands is there only then. */
const describeTable = (layout: Layout, name: string, table: Table): string[] => {
  const target = qualified(layout, name);
  const columns = columnsOf(table, layout);
  return [
    `COMMENT ON TABLE ${target} IS ${literal(`${table.description} Grain: ${table.grain}.`)}`,
    ...columns.map((column) => `COMMENT ON COLUMN ${target}.${quote(column.name)} IS ${literal(column.description)}`),
  ];
};

/** One statement per missing column; `present` are the names that the table has. A required one arrives nullable. */
export const addColumns = (layout: Layout, table: Table, present: ReadonlySet<string>): string[] =>
  columnsOf(table, layout)
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

const wordsRelation = (layout: Layout): string[] => {
  const target = qualified(layout, wordsView.name);
  if (layout.words === 'off') return [];
  if (layout.words === 'rows') {
    return [...createTable(layout, wordsView.name, wordsTable), ...describeTable(layout, wordsView.name, wordsTable)];
  }
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

/** Everything that an empty database needs, in order. */
export const createStatements = (layout: Layout): string[] => [
  `CREATE SCHEMA IF NOT EXISTS ${quote(layout.schema)}`,
  ...tablesOf(layout).flatMap((table) => createTable(layout, table.name, table)),
  ...tombstones(layout),
  ...indexes(layout),
];

export const describeStatements = (layout: Layout): string[] =>
  tablesOf(layout).flatMap((table) => describeTable(layout, table.name, table));

export const viewStatements = wordsRelation;
