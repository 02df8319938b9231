/** A BigQuery warehouse on the local server, with `documents`, that can be set back and read whole. */

import { createRest } from '../../../src/warehouse/bigquery/client.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { relationsOf } from '../../../src/warehouse/bigquery/ddl.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { openBigquery } from '../../support/open-bigquery.ts';
import { executeIn } from '../../warehouse/conformance-targets.ts';
import type { RestorableTarget } from './erasure-cases.ts';

/** Configuration of a warehouse in a dataset of its own. */
export const localBigquery = async () => {
  const { project, dataset, restUrl: api_endpoint } = await useBigQuery();
  const usual = { type: 'bigquery', documents: true, commit_interval_s: 1 } as const;
  return { ...usual, quota: { jobs_per_day: 1_000_000 }, project, dataset, api_endpoint };
};

/** The tables of a warehouse, past callsync. */
export const tablesOf = (config: BigqueryWarehouseConfig) => {
  const nameOf = (table: string): string => `\`${config.dataset}.${table}\``;
  const run = async (statementOf: (table: { readonly name: string }) => string): Promise<void> =>
    void (await executeIn(config, `${relationsOf(config).map(statementOf).join(';\n')};`));
  let copies = 0;
  return {
    /** Remembers their rows; what it returns sets them back. */
    backUp: async () => {
      const copy = `copy_${++copies}`;
      const copyOf = (name: string): string => nameOf(`${copy}_${name}`);
      await run(({ name }) => `CREATE TABLE ${copyOf(name)} AS SELECT * FROM ${nameOf(name)}`);
      const restored = ({ name }: { readonly name: string }): string =>
        `DELETE FROM ${nameOf(name)} WHERE TRUE; INSERT INTO ${nameOf(name)} SELECT * FROM ${copyOf(name)}`;
      return () => run(restored);
    },
    drop: () => run(({ name }) => `DROP TABLE ${nameOf(name)}`),
  };
};

interface TableList {
  readonly tables?: readonly { readonly type: string; readonly tableReference: { readonly tableId: string } }[];
}

/** Every row of the dataset. Staging tables too: what a load left behind holds rows of calls. */
export async function* readBigquery(config: BigqueryWarehouseConfig): AsyncGenerator<string> {
  const listing = { path: `/datasets/${config.dataset}/tables`, query: { maxResults: 1_000 } };
  const { tables = [] } = await createRest(config, 60_000)<TableList>({ method: 'GET', ...listing });
  for (const { type, tableReference } of tables) {
    const name = tableReference.tableId;
    if (type !== 'TABLE' || name.startsWith('copy_')) continue;
    for (const row of await executeIn(config, `SELECT * FROM \`${config.dataset}.${name}\``)) yield JSON.stringify(row);
  }
}

export const openBigqueryTarget = async (): Promise<RestorableTarget> => {
  const config = bigqueryWarehouseSchema.parse(await localBigquery());
  const warehouse = openBigquery({ name: 'bigquery', config });
  await warehouse.migrate();
  const { backUp } = tablesOf(config);
  return { target: { warehouse, documents: true }, backUp, read: () => readBigquery(config) };
};
