/** Small queries for status and for results that BigQuery no longer keeps. */
import type { BigqueryWarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { callTablesOf, logTables } from './ddl.ts';
import type { Query } from './queries.ts';

/** One row a relation: `relation`, `row_count`. */
export const countQuery = (config: BigqueryWarehouseConfig): string => {
  const dataset = `${config.project}.${config.dataset}`;
  const names = [...callTablesOf(config), ...logTables].map((table) => table.name as string);
  const count = (name: string): string =>
    `SELECT '${name}' AS relation, COUNT(*) AS row_count FROM \`${dataset}.${name}\``;
  // Cheaper than the view: only the lengths of the arrays are read.
  const words = `SELECT 'words' AS relation, IFNULL(SUM(ARRAY_LENGTH(u.words)), 0) AS row_count FROM \`${dataset}.utterances\` AS u`;
  return [
    ...names.map(count),
    count('loads'),
    ...(config.words === 'arrays' ? [words] : config.words === 'rows' ? [count('words')] : []),
  ].join('\nUNION ALL\n');
};

/** `changed` of a committed load. */
export const changedOfLoad = (config: BigqueryWarehouseConfig, loadId: string): Query => ({
  sql: `SELECT l.calls_changed AS changed FROM \`${config.project}.${config.dataset}.loads\` AS l WHERE l.load_id = @load_id`,
  parameters: { load_id: loadId },
  types: { load_id: 'STRING' },
});
