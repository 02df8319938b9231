/** Every statement that this warehouse can send, for review: the SQL itself, and tables as DDL of the same meaning. */

import { expireLogsSql } from '../expire-logs.ts';
import { readingStatements } from '../reading.ts';
import type { Statement } from '../warehouse.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { createStagingSql, createTableSql, createViewSql, relationsOf } from './ddl.ts';
import { dialectOf } from './dialect.ts';
import { clearFenceQuery } from './fence.ts';
import { grantsSql } from './grants.ts';
import { type ScriptInput, writeLoadScript } from './load-script.ts';
import { removeOrphansScript, removeScript } from './remove.ts';
import { createSearchIndexSql, dropSearchIndexSql, searchSql, searchStatusSql } from './search.ts';
import { stateQuery } from './state.ts';

const exampleGuard = {
  callId: 'call',
  callTimestamp: Date.parse('2026-03-01T00:00:00Z') * 1000,
  epoch: 1,
  revision: 1,
  flattenVersion: 1,
  contentHash: null,
  childRows: {},
};

const exampleState = {
  ...{ warehouse: 'warehouse', watermark: 0, newest_call: 0, proven_axis: 'timestamp', pending: 0 },
  ...{ ledger_epoch: 1, heartbeat_at: 0 },
};

/** Staging table and dates are examples; they are all that differs between loads of the same make. */
export const listStatements = (config: BigqueryWarehouseConfig): readonly Statement[] => {
  const dataset = `${config.project}.${config.dataset}`;
  const staging = `${config.project}.${config.staging_dataset ?? config.dataset}.callsync_staging_example_1`;
  const script = (over: Partial<ScriptInput>): string =>
    writeLoadScript({
      load: {
        id: 'example',
        origin: 'read',
        epoch: 1,
        flattenVersion: 1,
        sent: 500,
        changedBefore: 0,
        stagedRows: 500,
      },
      dataset,
      staging,
      layout: config,
      calls: false,
      tombstones: false,
      unknownPartitions: false,
      force: false,
      moved: false,
      last: true,
      partitions: ['2026-03-01', '2026-03-02', '2026-03-05'],
      logs: new Map(),
      ...over,
    });
  const logs = new Map([
    ['deliveries', ['2026-03-05']],
    ['verdicts', []],
  ]);
  return [
    ...relationsOf(config).map((relation) => ({
      name: `ddl/${relation.name} (sent as tables.insert)`,
      sql: createTableSql(dataset, relation, config),
    })),
    { name: 'ddl/words (sent as tables.insert)', sql: createViewSql(dataset) },
    { name: 'load/staging (sent as tables.insert)', sql: createStagingSql(staging, config) },
    { name: 'load/new calls', sql: script({ calls: true }) },
    { name: 'load/moved calls and log rows', sql: script({ calls: true, moved: true, logs }) },
    { name: 'load/after a restored ledger', sql: script({ calls: true, unknownPartitions: true }) },
    { name: 'load/again, equal guards too', sql: script({ calls: true, force: true }) },
    { name: 'load/log rows only', sql: script({ logs, partitions: [] }) },
    { name: 'erase', sql: script({ tombstones: true }) },
    { name: 'load/clear the fence', sql: `-- @param epoch INT64\n${clearFenceQuery(dataset)};` },
    ...expireLogsSql((table) => `\`${dataset}.${table}\``, { deliveries: 1, loads: 1, verdicts: 1 }, 0).map((sql) => ({
      name: 'logs/expire',
      sql: `${sql};`,
    })),
    { name: 'state', sql: `${stateQuery(dataset, exampleState)};` },
    ...readingStatements(dialectOf(dataset), config.documents).map(({ name, sql }) => ({
      name,
      sql: `${sql.includes('@ids') ? '-- @param ids ARRAY<STRING>\n' : ''}${sql.includes('@salt') ? '-- @param salt STRING\n' : ''}${sql};`,
    })),
    {
      name: 'reconcile/remove orphans',
      sql: removeOrphansScript(dataset, config, ['call']),
    },
    {
      name: 'reconcile/remove surplus',
      sql: removeScript(dataset, config, [exampleGuard]),
    },
    ...grantsSql(config, {
      analyst: 'group:analysts@example.com',
      restricted: 'group:others@example.com',
      marts: 'calls_marts',
      openMarts: {},
    }).map((sql) => ({
      name: 'grants',
      sql: `${sql};`,
    })),
    { name: 'search index/create', sql: `${createSearchIndexSql(dataset)};` },
    { name: 'search index/drop', sql: `${dropSearchIndexSql(dataset)};` },
    { name: 'search index/status', sql: `${searchStatusSql(dataset)};` },
    {
      name: 'search',
      sql: `-- @param terms STRING\n-- @param from_micros INT64\n-- @param to_micros INT64\n-- @param side STRING\n${searchSql(
        dataset,
        { from: 0, to: 1, side: 'out', limit: 20 },
      )};`,
    },
  ];
};
