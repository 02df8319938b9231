/** Two installations in one PostgreSQL database and one BigQuery project, for two services that give their calls the same ids. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { localBigquery } from '../pipeline/persons/bigquery-target.ts';
import { type Installation, installForTest } from '../support/installation.ts';
import { openBigquery } from '../support/open-bigquery.ts';
import { databaseForTest } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { column } from '../support/rows.ts';
import { settledRange } from '../support/settled-range.ts';
import { until } from '../support/until.ts';

const none = { lost: 0, duplicated: 0, stale: 0, mismatched: 0 };
const names = ['north', 'south'] as const;

test('two installations in one database keep their calls, their work and their erasures apart', async () => {
  const database = await databaseForTest();
  const sites: Installation[] = [];
  const datasets: Awaited<ReturnType<typeof localBigquery>>[] = [];
  for (const [index, name] of names.entries()) {
    const bigquery = await localBigquery();
    datasets.push(bigquery);
    const schemas = { store: `${name}_store`, warehouse: `${name}_calls` };
    const calls = { count: 60 + 20 * index, utterances: 2, ...settledRange };
    const site = await installForTest({
      ...{ databaseUrl: database.url, schemas, simulator: { seed: 8, calls } },
      config: { warehouses: { postgres: { type: 'postgres', schema: schemas.warehouse }, bigquery } },
    });
    sites.push(site);
  }
  for (const site of sites) await site.startWorker();
  const backfills = await Promise.all(sites.map((site) => site.backfill('whole')));
  for (const { result } of backfills) expect((await result).totals.problems).toBe(0);
  for (const site of sites) expect(await site.checkTruth()).toMatchObject(none);

  const [north, south] = sites as [Installation, Installation];
  const both = 'SELECT call_id FROM north_calls.calls JOIN south_calls.calls s USING (call_id) ORDER BY 1 LIMIT 1';
  const [shared] = await column(north.warehouse, both);
  const idFile = join(north.folder, 'ids.txt');
  await writeFile(idFile, `${shared}\n`);
  const named = ['--by', 'call', '--file', idFile, '--config', north.configPath];
  expect(await startProgram(['erase', ...named, '--yes', '--no-wait']).ended).toBe(0);
  const ids = (at: number) => {
    const warehouse = openBigquery({ name: 'bigquery', config: bigqueryWarehouseSchema.parse(datasets[at]) });
    return column(warehouse, 'SELECT call_id FROM calls ORDER BY 1');
  };
  const kept = ({ store }: Installation) => column(store, 'SELECT call_id FROM ledger WHERE NOT tombstone ORDER BY 1');
  await until('BigQuery has what each ledger has', async () => {
    for (const [at, site] of sites.entries())
      if (JSON.stringify(await ids(at)) !== JSON.stringify(await kept(site))) return false;
    return true;
  });
  expect(await kept(north)).not.toContain(shared);
  expect(await kept(south)).toContain(shared);
  expect(await south.checkTruth()).toMatchObject(none);

  // As docs/guides/managed-services.md has it.
  const all = `SELECT 'north' AS installation, call_id, call_timestamp, status FROM north_calls.calls UNION ALL SELECT 'south', call_id, call_timestamp, status FROM south_calls.calls`;
  expect(await south.warehouse.query(all)).toHaveLength((await kept(north)).length + (await kept(south)).length);
});
