/**
 * A thousand persons are erased while ten thousand late, repeated and replayed events arrive; then ledger and both warehouses
 * are restored to before, and the ledger is lost. About 20 minutes; CALLSYNC_PEOPLE=100 for less.
 */
import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../schemas/config/warehouses.ts';
import { relationsOf } from '../../src/warehouse/bigquery/ddl.ts';
import { createBigqueryWarehouse } from '../../src/warehouse/bigquery/warehouse.ts';
import { eraseUnderRestores, type RestorableTarget, restorablePostgres } from '../pipeline/erase/erasure-cases.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { openPipeline, register } from '../support/pipeline.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';

const openBigquery = async (): Promise<RestorableTarget> => {
  const emulator = await useBigQuery();
  const config = bigqueryWarehouseSchema.parse({
    type: 'bigquery',
    project: emulator.project,
    dataset: emulator.dataset,
    api_endpoint: emulator.restUrl,
    documents: true,
    commit_interval_s: 1,
    quota: { jobs_per_day: 1_000_000 },
  });
  const warehouse = createBigqueryWarehouse({ name: 'bigquery', config });
  await warehouse.migrate();
  const tables = relationsOf(config).map(({ name }) => name);
  const run = async (sql: readonly string[]): Promise<void> => void (await executeIn(config, `${sql.join(';\n')};`));
  return {
    target: { warehouse, documents: true },
    backUp: async () => {
      const copyOf = (table: string) => `\`${config.dataset}.copy_${table}\``;
      await run(tables.map((table) => `CREATE TABLE ${copyOf(table)} AS SELECT * FROM \`${config.dataset}.${table}\``));
      return () =>
        run(
          tables.flatMap((table) => [
            `DELETE FROM \`${config.dataset}.${table}\` WHERE TRUE`,
            `INSERT INTO \`${config.dataset}.${table}\` SELECT * FROM ${copyOf(table)}`,
          ]),
        );
    },
    read: async function* () {
      // Staging tables too: what a load left behind holds rows of calls.
      const listed = await executeIn(
        config,
        `SELECT table_name AS name FROM \`${config.dataset}.INFORMATION_SCHEMA.TABLES\``,
      );
      const names = listed.map(({ name }) => String(name)).filter((name) => !name.startsWith('copy_'));
      for (const name of names)
        for (const row of await executeIn(config, `SELECT * FROM \`${config.dataset}.${name}\``))
          yield JSON.stringify(row);
    },
  };
};

test('nothing of erased persons is found anywhere, and receipts verify', async () => {
  const people = Number(process.env.CALLSYNC_PEOPLE ?? 1_000);
  const pipeline = await openPipeline({ documents: true });
  try {
    const bigquery = await openBigquery();
    await register(pipeline.store, 'bigquery');
    const figures = await eraseUnderRestores(pipeline, [restorablePostgres(pipeline), bigquery], {
      erased: people,
      others: Math.ceil(people / 5),
      events: people * 10,
    });
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(figures.examples).toEqual([]);
    for (const [expected, ...kept] of Object.values(figures.kept)) expect(kept).toEqual(kept.map(() => expected));
    for (const { broken, cut } of Object.values(figures.receipts))
      expect({ broken, cut }).toEqual({ broken: 0, cut: 0 });
  } finally {
    await pipeline.close();
  }
});
