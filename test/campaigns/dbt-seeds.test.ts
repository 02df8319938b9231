/**
 * The dbt package as another project uses it: dbt/integration_tests on PostgreSQL and on the local BigQuery, whose figures were
 * counted from the calls of the seeds. About 3 minutes, and one for each adapter to install dbt first.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { expectedColumns, renderCsv } from '../../scripts/dbt-seeds.ts';
import { type DbtAdapter, installDbt, openDbt, postgresTarget } from '../marts/dbt.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { createDatabase } from '../support/postgres.ts';

const dbtFolder = resolve(import.meta.dirname, '../../dbt');
const schema = 'callsync_integration_tests';

interface Place {
  readonly target: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

const places: Readonly<Record<DbtAdapter, () => Promise<Place>>> = {
  async postgres() {
    const database = await createDatabase();
    return { target: postgresTarget(database.url, schema), vars: {}, close: () => database.drop() };
  },
  async bigquery() {
    const { project, dataset, restUrl: api_endpoint } = await useBigQuery();
    const target = { method: 'oauth-secrets', token: 'none', project, dataset, api_endpoint, threads: 1 };
    return { target, vars: { callsync_schema: dataset }, close: () => Promise.resolve() };
  },
};

test.each(['postgres', 'bigquery'] as const)('models of seeds on %s are what was counted', async (adapter) => {
  expect(await installDbt(adapter)).toBeUndefined();
  const { target, vars, close } = await places[adapter]();
  const folder = await mkdtemp(join(tmpdir(), 'callsync-dbt-seeds-'));
  const project = join(folder, 'project');
  await cp(join(dbtFolder, 'integration_tests'), project, { recursive: true });
  await writeFile(join(project, 'packages.yml'), `packages: [{ local: '${dbtFolder}' }]\n`);
  const dbt = await openDbt({ adapter, folder, target, project });
  await dbt.run(['deps'], {});
  await dbt.run(['seed'], vars);
  const said = await dbt.run(['build', '--exclude-resource-type', 'seed'], vars);
  console.log(adapter, said.trim().split('\n').at(-1));
  expect(said).toMatch(/Done\. PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
  for (const mart of Object.keys(expectedColumns)) expect(said).toMatch(new RegExp(`PASS ${mart}_as_counted `));

  // What was counted is compared: a seed without rows is noticed.
  await writeFile(join(project, 'seeds/expected_agent_daily.csv'), renderCsv(expectedColumns.agent_daily ?? [], []));
  await dbt.run(['seed', '--select', 'expected_agent_daily'], vars);
  const compared = dbt.run(['test', '--select', 'agent_daily_as_counted'], vars);
  await expect(compared).rejects.toThrow(/FAIL \d+ agent_daily_as_counted/);

  // The local BigQuery refuses tables with an enforced contract.
  if (adapter === 'postgres') {
    const contracts = { ...vars, callsync_contracts: true, callsync_fields: {} };
    const built = await dbt.run(['run', '--full-refresh'], contracts);
    console.log('with contracts', built.trim().split('\n').at(-1));
    expect(built).toMatch(/Done\. PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
  }
  await dbt.close();
  await close();
  await rm(folder, { recursive: true });
});
