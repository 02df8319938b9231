/** Every statement that this warehouse can send, for review: the SQL itself, and tables as DDL of the same meaning. */

import { expireLogsSql } from '../expire-logs.ts';
import { readingStatements } from '../reading.ts';
import type { Statement } from '../warehouse.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { createStagingSql, createTableSql, createViewSql, relationsOf } from './ddl.ts';
import { dialectOf } from './dialect.ts';
import { clearFenceQuery } from './fence.ts';
import { grantsSql } from './grants.ts';
import { writeLoadScript } from './load-script.ts';
import { removeOrphansScript, removeScript } from './remove.ts';
import { createSearchIndexSql, dropSearchIndexSql, searchSql, searchStatusSql } from './search.ts';
import { stateQuery } from './state.ts';

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

/** Staging table and dates are examples; they are all that differs between loads of the same make. */
export const listStatements = (config: BigqueryWarehouseConfig): readonly Statement[] => {
  const dataset = `${config.project}.${config.dataset}`;
  const staging = `${config.project}.${config.staging_dataset ?? config.dataset}.callsync_staging_example_1`;
  const none = { calls: false, tombstones: false, unknownPartitions: false, force: false, moved: false };
  const load = {
    id: 'example',
    origin: 'read',
    epoch: 1,
    flattenVersion: 1,
    sent: 500,
    changedBefore: 0,
    stagedRows: 500,
  };
  const dates = ['2026-03-01', '2026-03-02', '2026-03-05'];
  const script = (name: string, over: Partial<Parameters<typeof writeLoadScript>[0]>): Statement => ({
    name,
    sql: writeLoadScript({
      ...{ load, dataset, staging, layout: config, ...none, last: true, partitions: dates, logs: new Map() },
      ...over,
    }),
  });
  const logs = new Map([
    ['deliveries', ['2026-03-05']],
    ['verdicts', []],
  ]);
  const callTimestamp = Date.parse('2026-03-01T00:00:00Z') * 1000;
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
    { name: 'ddl/words (sent as tables.insert)', sql: createViewSql(dataset) },
    { name: 'load/staging (sent as tables.insert)', sql: createStagingSql(staging, config) },
    script('load/new calls', { calls: true }),
    script('load/moved calls and log rows', { calls: true, moved: true, logs }),
    script('load/after a restored ledger', { calls: true, unknownPartitions: true }),
    script('load/again, equal guards too', { calls: true, force: true }),
    script('load/log rows only', { logs, partitions: [] }),
    script('erase', { tombstones: true }),
    written('load/clear the fence', clearFenceQuery(dataset)),
    ...expireLogsSql((table) => `\`${dataset}.${table}\``, { deliveries: 1, loads: 1, verdicts: 1 }, 0).map((sql) =>
      written('logs/expire', sql),
    ),
    written('state', stateQuery(dataset, { ...state, ledger_epoch: 1, heartbeat_at: 0 })),
    ...readingStatements(dialectOf(dataset), config.documents).map(({ name, sql }) => written(name, sql)),
    { name: 'reconcile/remove orphans', sql: removeOrphansScript(dataset, config, ['call']) },
    { name: 'reconcile/remove surplus', sql: removeScript(dataset, config, { guards: [guard] }) },
    ...grantsSql(config, { analyst, restricted, marts: 'calls_marts', openMarts: {} }).map((sql) =>
      written('grants', sql),
    ),
    written('search index/create', createSearchIndexSql(dataset)),
    written('search index/drop', dropSearchIndexSql(dataset)),
    written('search index/status', searchStatusSql(dataset)),
    written('search', searchSql(dataset, { from: 0, to: 1, side: 'out', limit: 20 })),
    written('search/then', searchSql(dataset, { thenText: 'b', speaker: (side) => `${side} = 'in'`, limit: 20 })),
  ];
};
