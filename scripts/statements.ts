/**
 * Every statement that each kind of warehouse can send. Tables of BigQuery, which the
 * product makes over REST, are shown as DDL.
 */
import { callTables } from '../schemas/tables.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from '../src/warehouse/bigquery/config.ts';
import {
  type Layout,
  quote,
  type Relation,
  relationsOf,
  stagingFields,
  typeSql,
  wordsOf,
} from '../src/warehouse/bigquery/ddl.ts';
import { dialectOf } from '../src/warehouse/bigquery/dialect.ts';
import { grantsSql } from '../src/warehouse/bigquery/grants.ts';
import { writeLoadScript } from '../src/warehouse/bigquery/load-script.ts';
import { viewQuery } from '../src/warehouse/bigquery/migrate.ts';
import { removeOrphansScript, removeScript } from '../src/warehouse/bigquery/partitions.ts';
import { indexSql, searchSql } from '../src/warehouse/bigquery/search.ts';
import { clearFenceQuery, stateQuery } from '../src/warehouse/bigquery/warehouse.ts';
import { expireLogsSql } from '../src/warehouse/expire-logs.ts';
import { listChanges } from '../src/warehouse/postgres/ddl.ts';
import { dialectOf as postgresDialectOf } from '../src/warehouse/postgres/dialect.ts';
import { type Layout as PostgresLayout, qualified } from '../src/warehouse/postgres/layout.ts';
import { loadSql } from '../src/warehouse/postgres/load-sql.ts';
import { createLater, findSql } from '../src/warehouse/postgres/search-find.ts';
import * as postgresIndex from '../src/warehouse/postgres/search-index.ts';
import { removalSql } from '../src/warehouse/postgres/warehouse.ts';
import { type QueryDialect, readingSql } from '../src/warehouse/reading.ts';
import type { CallLoad, FlatRows, LoadBatch, Statement } from '../src/warehouse/warehouse.ts';

const dayMicros = 86_400_000_000;

type Field = Relation['fields'][number];

/** A relation as a statement, for review and for the analyzer. */
const createTableSql = (dataset: string, relation: Relation, config: BigqueryWarehouseConfig): string => {
  const columns = relation.fields.map((field) => `  ${fieldSql(field)}`).join(',\n');
  const options = [
    `description=${quote(relation.description)}`,
    ...(relation.partitionedBy === undefined || config.partition_expiration_days === undefined
      ? []
      : [`partition_expiration_days=${config.partition_expiration_days}`]),
    ...(config.kms_key === undefined ? [] : [`kms_key_name=${quote(config.kms_key)}`]),
    `labels=[${Object.entries(config.labels)
      .map(([key, value]) => `(${quote(key)}, ${quote(value)})`)
      .join(', ')}]`,
  ].filter((option) => option !== 'labels=[]');
  return [
    `CREATE TABLE IF NOT EXISTS \`${dataset}.${relation.name}\` (\n${columns}\n)`,
    ...(relation.partitionedBy === undefined ? [] : [`PARTITION BY TIMESTAMP_TRUNC(${relation.partitionedBy}, DAY)`]),
    ...(relation.clusteredBy === undefined ? [] : [`CLUSTER BY ${relation.clusteredBy.join(', ')}`]),
    `OPTIONS (${options.join(', ')});`,
  ].join('\n');
};

const createStagingSql = (table: string, layout: Layout): string => {
  const columns = stagingFields(layout)
    .map((field) => `  ${fieldSql(field)}`)
    .join(',\n');
  return `CREATE TABLE \`${table}\` (\n${columns}\n);`;
};

const fieldSql = (field: Field): string => {
  const options = field.description === undefined ? '' : ` OPTIONS (description=${quote(field.description)})`;
  const required = field.mode === 'REQUIRED' ? ' NOT NULL' : '';
  return `${field.name} ${typeSql(field)}${required}${options}`;
};

/** Each parameter that a statement names, as a comment before it. */
const parameters = {
  ids: 'ARRAY<STRING>',
  salt: 'STRING',
  epoch: 'INT64',
  terms: 'STRING',
  then_terms: 'STRING',
  from_micros: 'INT64',
  to_micros: 'INT64',
  side: 'STRING',
} as const;

const written = (name: string, sql: string): Statement => {
  const used = Object.entries(parameters).filter(([parameter]) => sql.includes(`@${parameter}`));
  return { name, sql: `${used.map(([parameter, type]) => `-- @param ${parameter} ${type}\n`).join('')}${sql};` };
};

/** Queries that do not depend on the request, or an example. */
const readingStatements = (dialect: QueryDialect, documents: boolean): readonly Statement[] => {
  const day = { from: 0, to: dayMicros };
  const dates = ['2026-03-01'];
  return [
    { name: 'reconcile/range', sql: readingSql.guardsSql(dialect, documents, day) },
    { name: 'reconcile/ids', sql: readingSql.guardsSql(dialect, documents, { callIds: [] }) },
    { name: 'reconcile/ids of a range', sql: readingSql.callIdsSql(dialect, day) },
    { name: 'load/change times', sql: readingSql.changeTimesSql(dialect) },
    { name: 'reconcile/orphans', sql: readingSql.orphansSql(dialect, documents, { part: 0, of: 1 }) },
    { name: 'reconcile/rows', sql: readingSql.callRowsSql(dialect, 'utterances', dates) },
    { name: 'erase/rows-left', sql: readingSql.rowsLeftSql(dialect, documents, dates) },
    ...readingSql.namesOf(documents).map((name) => ({
      name: `read/${name}`,
      sql: readingSql.rowsSql(dialect, name),
    })),
  ];
};

const microsOf = (date: string): number => Date.parse(date) * 1000;

interface Example extends Pick<LoadBatch, 'force' | 'logs'> {
  /** Dates of the calls or tombstones. */
  readonly dates: readonly (string | null)[];
  readonly calls: boolean;
  readonly tombstones: boolean;
  /** Whether one call has all dates, instead of a call each. */
  readonly moved: boolean;
}

/** A batch whose load has such a script. */
export const exampleBatch = ({
  dates,
  calls = false,
  tombstones = false,
  moved = false,
  logs = {},
  force = false,
}: Partial<Example> & Pick<Example, 'dates'>): LoadBatch => {
  const callOf = (partitions: readonly (string | null)[]): CallLoad => ({
    ...{ callId: 'call', revision: 1, partitions, changes: [] },
    callTimestamp: partitions[0] == null ? null : microsOf(partitions[0]),
    flatten: () => ({}) as FlatRows,
  });
  return {
    ...{ loadId: 'example', epoch: 1, flattenVersion: 1, origin: 'read', logs, force },
    calls: calls ? (moved ? [callOf(dates)] : dates.map((date) => callOf([date]))) : [],
    tombstones: tombstones ? [{ callId: 'call', callKey: 'key', revision: 1, partitions: dates }] : [],
    keyOf: (callId) => callId,
  };
};

/** Where every table has rows. */
export const allFilled: ReadonlySet<string> = new Set([...callTables.map(({ name }) => name), 'changes']);

/** Staging table and dates are examples; they are all that differs between loads of the same make. */
export const listBigqueryStatements = (config: BigqueryWarehouseConfig): readonly Statement[] => {
  const dataset = `${config.project}.${config.dataset}`;
  const staging = `${config.project}.${config.staging_dataset ?? config.dataset}.callsync_staging_example_1`;
  const script = (
    name: string,
    { unknownPartitions = false, ...wanted }: Partial<Example> & { readonly unknownPartitions?: boolean },
  ): Statement => {
    const batch = exampleBatch({ dates: ['2026-03-01', '2026-03-02', '2026-03-05'], ...wanted });
    const load = { batch, stagedRows: 500, unknownPartitions, filled: allFilled };
    return { name, sql: writeLoadScript({ ...load, dataset, staging, layout: config }) };
  };
  const logs = { deliveries: [{ received_at: microsOf('2026-03-05') }], verdicts: [{}] };
  const callTimestamp = microsOf('2026-03-01');
  const guard = {
    callId: 'call',
    callTimestamp,
    epoch: 1,
    revision: 1,
    flattenVersion: 1,
    contentHash: null,
    childRows: {},
  };
  const state = { warehouse: 'warehouse', watermark: 0, newest_call: 0, proven_axis: 'timestamp', pending: 0 };
  const [analyst, restricted] = ['group:analysts@example.com', 'group:others@example.com'];
  return [
    ...relationsOf(config).map((relation) => ({
      name: `ddl/${relation.name} (sent as tables.insert)`,
      sql: createTableSql(dataset, relation, config),
    })),
    written('ddl/words', viewQuery(dataset, wordsOf(dataset))),
    { name: 'load/staging (sent as tables.insert)', sql: createStagingSql(staging, config) },
    script('load/new calls', { calls: true }),
    script('load/moved calls and log rows', { calls: true, moved: true, logs }),
    script('load/after a restored ledger', { calls: true, unknownPartitions: true }),
    script('load/again, equal guards too', { calls: true, force: true }),
    script('load/log rows only', { logs }),
    script('erase', { tombstones: true }),
    written('load/clear the fence', clearFenceQuery(dataset)),
    ...expireLogsSql((table) => `\`${dataset}.${table}\``, { deliveries: 1, loads: 1, verdicts: 1 }, 0).map((sql) =>
      written('logs/expire', sql),
    ),
    { name: 'state', sql: stateQuery(dataset, { ...state, ledger_epoch: 1, heartbeat_at: 0 }) },
    ...readingStatements(dialectOf(dataset), config.documents).map(({ name, sql }) => written(name, sql)),
    { name: 'reconcile/remove orphans', sql: removeOrphansScript(dataset, config, ['call']) },
    { name: 'reconcile/remove surplus', sql: removeScript(dataset, config, [guard]) },
    ...grantsSql(config, { analyst, restricted, marts: 'calls_marts', openMarts: {} }).map((sql) =>
      written('grants', sql),
    ),
    ...Object.entries(indexSql(dataset)).map(([name, sql]) => written(`search index/${name}`, sql)),
    written('search', searchSql(dataset, { from: 0, to: 1, side: 'out', limit: 20 })),
    written('search/then', searchSql(dataset, { thenText: 'b', speaker: (side) => `${side} = 'in'`, limit: 20 })),
  ];
};

/** The statements of an object, each under its key. */
const nameStatements = (about: string, texts: Readonly<Record<string, string | readonly string[]>>) =>
  Object.entries(texts).flatMap(([name, sql]) => [sql].flat().map((one) => ({ name: `${about}: ${name}`, sql: one })));

const loadStatements = (layout: PostgresLayout): readonly Statement[] => {
  const { upserts, ...load } = loadSql(layout);
  return [...nameStatements('load', load), ...nameStatements('upsert', upserts)];
};

const listPostgresStatements = (layout: PostgresLayout): readonly Statement[] => [
  ...listChanges(layout).map(({ name, sql }) => ({ name: `migrate: ${name}`, sql })),
  ...loadStatements(layout),
  ...expireLogsSql((name) => qualified(layout, name), { deliveries: 1, loads: 1, verdicts: 1 }, 0).map((sql) => ({
    name: 'logs: expire',
    sql,
  })),
  ...readingStatements(postgresDialectOf(layout), layout.documents),
  ...nameStatements('remove', removalSql(layout)),
  ...nameStatements('search index', postgresIndex.indexSql(layout)),
  ...nameStatements('search', findSql(layout)),
  { name: 'search: calls of two texts', sql: findSql(layout, undefined, createLater(layout, undefined)).walk },
];

/** The files with all statements, by path. */
export const renderStatements = (): Readonly<Record<string, string>> => {
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'project' });
  const kinds = {
    postgres: listPostgresStatements({ schema: 'calls', documents: true }),
    bigquery: listBigqueryStatements(config),
  };
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, statements]) => [
      `docs/reference/sql/${kind}.sql`,
      statements.map(({ name, sql }) => `-- ${name}\n${sql.trim().replace(/;$/, '')};\n`).join('\n'),
    ]),
  );
};
