/** A BigQuery warehouse on the local server, with `documents`, that can be set back and read whole. */

import { createRest } from '../../../src/warehouse/bigquery/client.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { relationsOf } from '../../../src/warehouse/bigquery/ddl.ts';
import { type TestBigQuery, useBigQuery } from '../../support/bigquery.ts';
import { openBigquery } from '../../support/open-bigquery.ts';
import { executeIn } from '../../warehouse/conformance-targets.ts';
import type { RestorableTarget } from './erasure-cases.ts';

/** Configuration of a warehouse in a dataset of its own. */
export const localBigquery = ({ project, dataset, restUrl }: TestBigQuery) => ({
  type: 'bigquery' as const,
  project,
  dataset,
  api_endpoint: restUrl,
  documents: true,
  commit_interval_s: 1,
  quota: { jobs_per_day: 1_000_000 },
});

interface TableList {
  readonly tables?: readonly { readonly type: string; readonly tableReference: { readonly tableId: string } }[];
}

/** Every row of the dataset. Staging tables too: what a load left behind holds rows of calls. */
export async function* readBigquery(config: BigqueryWarehouseConfig): AsyncGenerator<string> {
  const rest = createRest(config, 60_000);
  const listing = { path: `/datasets/${config.dataset}/tables`, query: { maxResults: 1_000 } };
  const { tables = [] } = await rest<TableList>({ method: 'GET', ...listing });
  for (const { type, tableReference } of tables) {
    const name = tableReference.tableId;
    if (type !== 'TABLE' || name.startsWith('copy_')) continue;
    for (const row of await executeIn(config, `SELECT * FROM \`${config.dataset}.${name}\``)) yield JSON.stringify(row);
  }
}

export const openBigqueryTarget = async (): Promise<RestorableTarget> => {
  const config = bigqueryWarehouseSchema.parse(localBigquery(await useBigQuery()));
  const warehouse = openBigquery({ name: 'bigquery', config });
  await warehouse.migrate();
  const tables = relationsOf(config).map(({ name }) => name);
  const run = async (sql: readonly string[]): Promise<void> => void (await executeIn(config, `${sql.join(';\n')};`));
  return {
    target: { warehouse, documents: true },
    backUp: async () => {
      const nameOf = (table: string) => `\`${config.dataset}.${table}\``;
      const copyOf = (table: string) => nameOf(`copy_${table}`);
      await run(tables.map((table) => `CREATE TABLE ${copyOf(table)} AS SELECT * FROM ${nameOf(table)}`));
      const restored = (table: string) =>
        `DELETE FROM ${nameOf(table)} WHERE TRUE; INSERT INTO ${nameOf(table)} SELECT * FROM ${copyOf(table)}`;
      return () => run(tables.map(restored));
    },
    read: () => readBigquery(config),
  };
};
