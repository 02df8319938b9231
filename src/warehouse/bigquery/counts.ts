/** Rows per relation, for status and the demo. */
import type { BigqueryWarehouseConfig } from './config.ts';
import { callTablesOf, logTables } from './ddl.ts';

/** One row a relation: `relation`, `row_count`. */
export const countQuery = (config: BigqueryWarehouseConfig): string => {
  const dataset = `${config.project}.${config.dataset}`;
  const names = [...callTablesOf(config), ...logTables].map((table) => table.name as string);
  return [
    ...[...names, 'changes', 'loads', 'sync_state'].map(
      (name) => `SELECT '${name}' AS relation, COUNT(*) AS row_count FROM \`${dataset}.${name}\``,
    ),
    // Cheaper than the view: BigQuery reads only the lengths of the arrays.
    `SELECT 'words' AS relation, IFNULL(SUM(ARRAY_LENGTH(u.words)), 0) AS row_count FROM \`${dataset}.utterances\` AS u`,
  ].join('\nUNION ALL\n');
};
