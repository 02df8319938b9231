/** DDL of the analysts' schema, from the table definitions. Additive and idempotent. */
import { type TableDefinition, tombstonesTable, wordsView } from '../../../schemas/tables.ts';
import { describeView, type View } from '../warehouse.ts';
import type { Layout, PhysicalColumn } from './layout.ts';
import { columnsOf, literal, qualified, quote, tablesOf, wordArrays } from './layout.ts';

const columnLine = (column: PhysicalColumn): string =>
  `${quote(column.name)} ${column.type}${column.required ? ' NOT NULL' : ''}`;

/** Columns that questions read. A scan unpacks all before the one that it reads: a tenth to a fifth of a question over tags or agents. */
const asked =
  'call_id call_timestamp tag_index confidence value_bool display_name status campaign duration agent direction dept'.split(
    ' ',
  );
const placeOf = ({ name }: PhysicalColumn): number => (asked.includes(name) ? asked.indexOf(name) : asked.length);

const createTable = (layout: Layout, table: TableDefinition): string => {
  const target = qualified(layout, table.name);
  const columns = columnsOf(table);
  const key = table.key.map(quote).join(', ');
  // ANALYZE reads 300 rows for each of the highest target, which cost as much as a quarter of the load of 5,000 calls. No query
  // compares words or whole utterances, and samples would outlive an erased call.
  const targets = columns.map(
    ({ name, type }) => `ALTER ${quote(name)} SET STATISTICS ${type.endsWith('[]') || name === 'content' ? 0 : 30}`,
  );
  const analyzed = table.kind === 'child' ? `;\nALTER TABLE ${target} ${targets.join(', ')}` : '';
  const placed = table.key[0] === 'call_id' ? [...columns].sort((a, b) => placeOf(a) - placeOf(b)) : columns;
  return `CREATE TABLE IF NOT EXISTS ${target} (\n  ${placed.map(columnLine).join(',\n  ')},\n  PRIMARY KEY (${key})\n)${analyzed}`;
};

/** Creates or replaces a view, then comments it. */
export const createView = (schema: string, view: View): readonly string[] => {
  const relation = `${quote(schema)}.${quote(view.name)}`;
  const comments = view.columns.map(
    ({ name, description }) => `COMMENT ON COLUMN ${relation}.${quote(name)} IS ${literal(description)}`,
  );
  return [
    `CREATE OR REPLACE VIEW ${relation} AS\n${view.sql}`,
    [`COMMENT ON VIEW ${relation} IS ${literal(describeView(view))}`, ...comments].join(';\n'),
  ];
};

const wordsOf = (layout: Layout): View => ({
  ...wordsView,
  sql: `SELECT u.call_id, u.call_timestamp, u.utterance_index, (w.position - 1)::integer AS word_index, u.side,
       w.value, w.start_offset, w.length, w.score
  FROM ${qualified(layout, 'utterances')} u
 CROSS JOIN LATERAL unnest(${wordArrays('u').join(', ')})
       WITH ORDINALITY AS w(value, start_offset, length, score, position)`,
});

/**
 * Relations of a schema by name: tables, views and indexes with comments. Has one entry without a name if the schema
 * is empty.
 */
export type FoundRelations = ReadonlyMap<
  string,
  { readonly comment: string | null; readonly columns: Readonly<Record<string, string | null>> }
>;

type Change = ReturnType<typeof change>;

/** @param isUrgent loads and queries need it; other changes may wait until nobody holds the table. */
const change = (name: string, sql: string, isDone: (found: FoundRelations) => boolean, isUrgent = false) => {
  return { name, sql, isDone, isUrgent };
};

/** Every statement that an empty database needs, in order, each with how to see that it is not needed. */
export const listChanges = (layout: Layout): readonly Change[] => {
  const tables = [...tablesOf(layout), tombstonesTable];
  const words = wordsOf(layout);
  const isThere = (name: string) => (found: FoundRelations) => found.has(name);
  const index = (name: string, on: string): Change =>
    change(`index ${name}`, `CREATE INDEX IF NOT EXISTS ${name} ON ${on}`, isThere(name));
  return [
    change('schema', `CREATE SCHEMA IF NOT EXISTS ${quote(layout.schema)}`, (found) => found.size > 0, true),
    ...tables.map((table) => change(`table ${table.name}`, createTable(layout, table), isThere(table.name), true)),
    ...tables.flatMap((table) => columnsOf(table).map((column) => addColumn(layout, table, column))),
    change(
      'view words',
      createView(layout.schema, words).join(';\n'),
      (found) => found.get(words.name)?.comment === describeView(words),
    ),
    index('loads_loaded_at', `${qualified(layout, 'loads')} (loaded_at)`),
    // After a restore of the ledger: the highest epoch, and the calls of loads that it does not know.
    index('calls_load', `${qualified(layout, 'calls')} (ledger_epoch, load_id)`),
    index('calls_call_timestamp', `${qualified(layout, 'calls')} (call_timestamp)`),
    index('deliveries_call_id', `${qualified(layout, 'deliveries')} (call_id)`),
    ...tables.flatMap((table) => [
      describeTable(layout, table.name, `${table.description} Grain: ${table.grain}.`),
      ...describeColumns(layout, table.name, columnsOf(table)),
    ]),
  ];
};

/** For a table that an older version created; a required column arrives nullable. */
const addColumn = (layout: Layout, table: TableDefinition, { name, type }: PhysicalColumn): Change =>
  change(
    `column ${table.name}.${name}`,
    `ALTER TABLE ${qualified(layout, table.name)} ADD COLUMN IF NOT EXISTS ${quote(name)} ${type}`,
    (found) => Object.hasOwn(found.get(table.name)?.columns ?? {}, name),
    true,
  );

const describeTable = (layout: Layout, name: string, description: string): Change => {
  const sql = `COMMENT ON TABLE ${qualified(layout, name)} IS ${literal(description)}`;
  return change(`comment on ${name}`, sql, (found) => found.get(name)?.comment === description);
};

const describeColumns = (layout: Layout, table: string, columns: View['columns']): Change[] =>
  columns.map(({ name, description }) => {
    const sql = `COMMENT ON COLUMN ${qualified(layout, table)}.${quote(name)} IS ${literal(description)}`;
    return change(`comment on ${table}.${name}`, sql, (found) => found.get(table)?.columns[name] === description);
  });
