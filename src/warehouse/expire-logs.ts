/** Deletes expired rows of log tables once a day. */

import { type LogTableName, tables } from '../../schemas/tables.ts';
import { dateOf, dayMs } from '../lib/timestamps.ts';
import type { LogRetention } from './warehouse.ts';

/** Number of loads that stay at any age. The number is higher than in the store; otherwise callsync would count these loads as lost. */
const keptLoads = 4_000;

/**
 * One statement a table, in SQL for every warehouse. Limits are whole UTC days, so that BigQuery drops whole
 * partitions. Limits are rounded up, because the store must keep each verdict longer than the warehouse.
 */
export const expireLogsSql = (relation: (table: LogTableName) => string, retention: LogRetention, now: number) =>
  tables.flatMap(({ name, agedBy }) => {
    if (agedBy === undefined) return [];
    const log = name as LogTableName;
    const limit = dateOf(Math.ceil((now - retention[log]) / dayMs) * dayMs);
    const newest = `SELECT n.${agedBy} FROM ${relation(log)} AS n ORDER BY n.${agedBy} DESC LIMIT ${keptLoads}`;
    const spared = log === 'loads' ? `\n  AND t.${agedBy} < (SELECT MIN(k.${agedBy}) FROM (${newest}) AS k)` : '';
    return [`DELETE FROM ${relation(log)} AS t\nWHERE t.${agedBy} < TIMESTAMP '${limit} 00:00:00+00'${spared}`];
  });

/** Runs these statements, once a day and process. */
export const createLogExpiry = (
  relation: (table: LogTableName) => string,
  run: (statements: readonly string[]) => Promise<unknown>,
): ((retention: LogRetention) => Promise<void>) => {
  let done = '';
  return async (retention) => {
    const statements = expireLogsSql(relation, retention, Date.now());
    if (statements.join() === done) return;
    await run(statements);
    done = statements.join();
  };
};
