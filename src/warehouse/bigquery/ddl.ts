/** Tables, views and staging as BigQuery resources, from `schemas/tables.ts`. */

import type { Column, Table, TableDefinition } from '../../../schemas/tables.ts';
import { columnsOf, keptTables, tableOf, tables, tombstonesTable, wordsView } from '../../../schemas/tables.ts';
import type { View } from '../warehouse.ts';
import type { BigqueryWarehouseConfig } from './config.ts';

interface Field {
  readonly name: string;
  readonly type: string;
  readonly mode: 'NULLABLE' | 'REQUIRED' | 'REPEATED';
  readonly description?: string | undefined;
  readonly fields?: readonly Field[];
}

export interface Relation {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly Field[];
  /** Column whose UTC date is the partition. */
  readonly partitionedBy?: string;
  readonly clusteredBy?: readonly string[];
}

/** The settings that decide tables and types. */
export type Layout = Pick<BigqueryWarehouseConfig, 'documents' | 'api_endpoint'>;

/** The emulator's decimals end at 38 digits in all; there they are kept as text, so that no digit is lost. */
export const decimalTypeOf = (layout: Layout) => (layout.api_endpoint === undefined ? 'BIGNUMERIC' : 'STRING');

const columnTypes = {
  text: 'STRING',
  timestamp: 'TIMESTAMP',
  float: 'FLOAT64',
  int: 'INT64',
  bool: 'BOOL',
  json: 'JSON',
} as const;

/** @param types by the names of the fields. */
const nullable = (types: Readonly<Record<string, string>>): readonly Field[] =>
  Object.entries(types).map(([name, type]) => ({ name, type, mode: 'NULLABLE' }));

const wordFields = nullable({ value: 'STRING', start: 'FLOAT64', length: 'FLOAT64', score: 'FLOAT64' });

const fieldOf = ({ name, type, description, ...column }: Column, layout: Layout): Field => {
  if (type === 'words') return { name, type: 'STRUCT', mode: 'REPEATED', description, fields: wordFields };
  const mode = column.required === true ? 'REQUIRED' : 'NULLABLE';
  return { name, type: type === 'decimal' ? decimalTypeOf(layout) : columnTypes[type], mode, description };
};

export const logTables: readonly Table[] = tables.filter((table) => table.kind === 'log' && table.name !== 'loads');

const required = (name: string, type: string, description?: string): Field => {
  return { name, type, mode: 'REQUIRED', description };
};

/** Tables that only loads read: calls that ever moved, and the row over which commits conflict. */
const guardTables: readonly Relation[] = [
  {
    name: 'moved_calls',
    description: 'Guards of calls whose date changed, for a late load with the old date.',
    fields: [
      required('call_id', 'STRING'),
      ...['ledger_epoch', 'revision', 'flatten_version'].map((name) => required(name, 'INT64')),
    ],
    clusteredBy: ['call_id'],
  },
  {
    name: 'fence',
    description: 'One row that every commit changes, so that parallel commits conflict.',
    fields: [
      required('ledger_epoch', 'INT64', 'Highest epoch of a commit.'),
      required('earlier_epochs', 'BOOL', 'True if an earlier epoch also committed.'),
      required('load_id', 'STRING', 'Last load.'),
    ],
  },
];

/** Every table of the dataset. */
export const relationsOf = (layout: Layout): readonly Relation[] => {
  const deliveries = tableOf('deliveries');
  return [
    ...keptTables(layout.documents).map((table) => partitioned(table, layout)),
    partitioned(tableOf('changes'), layout),
    { ...plain(deliveries, layout), partitionedBy: 'received_at', clusteredBy: ['seq'] },
    { ...plain(tableOf('verdicts'), layout), clusteredBy: ['verdict_id'] },
    { ...plain(tableOf('loads'), layout), clusteredBy: ['load_id'] },
    plain(tableOf('sync_state'), layout),
    { ...plain(tombstonesTable, layout), clusteredBy: ['call_key'] },
    ...guardTables,
  ];
};

const plain = (table: TableDefinition, layout: Layout): Relation => ({
  name: table.name,
  description: `${table.description} Grain: ${table.grain}.`,
  fields: columnsOf(table).map((column) => fieldOf(column, layout)),
});
const partitioned = (table: Table, layout: Layout): Relation => ({
  ...plain(table, layout),
  partitionedBy: 'call_timestamp',
  clusteredBy: ['call_id'],
});

/** Tables whose rows are staged, with the columns that a staged row has of its own. */
export const stagedTables = ({ documents }: Pick<Layout, 'documents'>): readonly Table[] => {
  const ofCalls = [...keptTables(documents), tableOf('changes')].map((table) => ({
    ...table,
    columns: table.columns.filter(({ name }) => name !== 'call_id' && name !== 'call_timestamp'),
  }));
  return [...ofCalls, ...logTables];
};

/** Schema of the one staging table of a load: a row per call, tombstone or log row, everything below it nested. */
export const stagingFields = (layout: Layout): readonly Field[] => [
  { name: 'n', type: 'INT64', mode: 'REQUIRED' },
  { name: 'kind', type: 'STRING', mode: 'REQUIRED' },
  ...nullable({ call_id: 'STRING', call_key: 'STRING', call_timestamp: 'INT64' }),
  ...nullable({ revision: 'INT64', content_hash: 'STRING', sent_before: 'BOOL', moved: 'BOOL' }),
  ...stagedTables(layout).map(
    ({ name, columns }): Field => ({ name, type: 'STRUCT', mode: 'REPEATED', fields: columns.map(stagedField) }),
  ),
];

// Timestamps are staged as microseconds, JSON and decimals as text: the script converts them by rules of ours.
const stagedField = (column: Column): Field => {
  if (column.type === 'words') return { name: column.name, type: 'STRUCT', mode: 'REPEATED', fields: wordFields };
  const type = { ...columnTypes, timestamp: 'INT64', json: 'STRING', decimal: 'STRING' }[column.type];
  return { name: column.name, type, mode: 'NULLABLE' };
};

export const typeSql = (field: Field): string => {
  const inner = field.fields?.map((one) => `${one.name} ${typeSql(one)}`);
  const type = inner === undefined ? field.type : `STRUCT<${inner.join(', ')}>`;
  return field.mode === 'REPEATED' ? `ARRAY<${type}>` : type;
};

/** A string literal. */
export const quote = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;

/** Each column has its alias spelled out: an offset's own name is not kept everywhere. */
export const wordsOf = (dataset: string): View => ({
  ...wordsView,
  sql: `SELECT
  u.call_id AS call_id,
  u.call_timestamp AS call_timestamp,
  u.utterance_index AS utterance_index,
  position AS word_index,
  u.side AS side,
  w.value AS value,
  w.start AS start_offset,
  w.length AS length,
  w.score AS score
FROM \`${dataset}.utterances\` AS u, UNNEST(u.words) AS w WITH OFFSET AS position`,
});
