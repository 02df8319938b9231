/** The dbt package. About 7 minutes in all, each case as it says. */

import { cp, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectedColumns, renderCsv } from '../../scripts/dbt-seeds.ts';
import { listBigqueryStatements } from '../../scripts/statements.ts';
import { marts } from '../../src/marts/render-views.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { analytics, changeCall } from '../marts/analytics.ts';
import { compareIncremental, compareModels, type ManifestNode, readManifest } from '../marts/compare-models.ts';
import { type Dbt, dbtCores, installDbt, openDbt, postgresTarget, settingsVars } from '../marts/dbt.ts';
import { stateRow } from '../marts/log-rows.ts';
import { type FilledWarehouses, fillWarehouses, readChangedCalls } from '../marts/two-warehouses.ts';
import { analyze, hasAnalyzer } from '../support/analyzer.ts';
import { type TestBigQuery, useBigQuery } from '../support/bigquery.ts';
import { useFolder } from '../support/folder.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { createDatabase } from '../support/postgres.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';

const bigqueryTarget = ({ project, dataset, restUrl: api_endpoint }: Omit<TestBigQuery, 'grpcAddress'>) => ({
  ...{ method: 'oauth-secrets', token: 'none', project, dataset, api_endpoint, threads: 1 },
});

/**
 * The dbt package with the real dbt-bigquery on the local BigQuery: it builds, its marts equal the views, sources are
 * fresh. With CALLSYNC_GSQLCHECK, Google's analyzer checks its SQL with contracts. About 4 minutes, and one to install
 * dbt first.
 */
describe('bigquery', () => {
  let here: FilledWarehouses;
  const folder = useFolder('dbt-bigquery');
  let dbt: Dbt;
  let vars: Readonly<Record<string, unknown>>;
  let views: readonly string[];

  const targetOf = (dataset: string) => bigqueryTarget({ ...here.bigqueryPlace, dataset });

  beforeAll(async () => {
    expect(await installDbt('bigquery')).toBeUndefined();
    here = await fillWarehouses(await readChangedCalls(changeCall));
    views = await here.bigquery.applyMarts(analytics);
    dbt = await openDbt({ adapter: 'bigquery', folder, target: targetOf(`${here.bigqueryPlace.dataset}_dbt`) });
    vars = { ...settingsVars, callsync_schema: here.bigqueryPlace.dataset };
  }, 900_000);
  afterAll(async () => {
    await dbt?.close();
    await here?.close();
  });

  test('builds with all its tests and unit tests, and each model has the rows of the view', async () => {
    const said = await dbt.run(['build'], vars);
    console.log(said.trim().split('\n').at(-1));
    expect(said).toMatch(/Done\. PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
    await compareModels(folder, here.bigquery, views);
  });

  test('takes the freshness of its sources from sync_state', async () => {
    const freshness = () => dbt.run(['source', 'freshness', '--select', 'source:callsync.calls'], vars);
    await expect(freshness()).rejects.toThrow(/ERROR STALE/);
    const now = Date.now() * 1000;
    await here.bigquery.warehouse.recordState(stateRow({ watermark: now, proven_through: now, heartbeat_at: now }));
    expect(await freshness()).toMatch(/PASS freshness/);
  });

  test('builds the rows of changed calls alone where it is incremental', async () => {
    const { project, dataset, restUrl: api_endpoint } = here.bigqueryPlace;
    const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project, dataset, api_endpoint });
    // The local BigQuery drops no view by its interface, as dbt does where a table replaces a view.
    const fresh = await openDbt({ adapter: 'bigquery', folder, target: targetOf(`${dataset}_rows`) });
    await compareIncremental(fresh, folder, here.bigquery, (sql) => executeIn(config, sql), vars);
    await fresh.close();
  });

  /** As dbt-bigquery writes it: a table under a contract is made with the columns and types of the contract. */
  const writeRelation = ({ relation_name, compiled_code = '', config, columns }: ManifestNode): string => {
    if (config.materialized === 'view') return `CREATE OR REPLACE VIEW ${relation_name} AS (${compiled_code})`;
    if (config.contract?.enforced !== true) return `CREATE OR REPLACE TABLE ${relation_name} AS (${compiled_code})`;
    const all = Object.values(columns);
    const typed = all.map(({ name, data_type }) => `${name} ${data_type}`).join(', ');
    const named = all.map(({ name }) => name).join(', ');
    return `CREATE OR REPLACE TABLE ${relation_name} (${typed}) AS (SELECT ${named} FROM (${compiled_code}) AS model_subq)`;
  };

  test.skipIf(!hasAnalyzer)("Google's analyzer accepts every model, with contracts, and every test", async () => {
    const { callsync_fields: _fields, ...withoutFields } = vars;
    await dbt.run(['compile'], { ...withoutFields, callsync_contracts: true, callsync_using_documents: true });
    const nodes = await readManifest(folder);
    const { project, dataset } = here.bigqueryPlace;
    const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project, dataset, documents: true });
    const made = listBigqueryStatements(config).filter(({ name }) => name.startsWith('ddl/'));
    const statements = made.map(({ sql }) => sql);
    const written = new Set<string>();
    const write = (id: string): void => {
      const node = nodes[id];
      if (node === undefined || written.has(id)) return;
      written.add(id);
      for (const parent of node.depends_on.nodes) write(parent);
      if (node.resource_type === 'model') statements.push(writeRelation(node));
      if (node.resource_type === 'test') statements.push(node.compiled_code ?? '');
    };
    for (const id of Object.keys(nodes)) write(id);
    const contracts = Object.values(nodes).filter(({ config: { contract } }) => contract?.enforced === true);
    const { checked, failures } = await analyze(statements);
    console.log(`${contracts.length} models under contracts; ${checked} statements were checked`);
    expect(failures).toEqual([]);
    expect(contracts.length).toBe(marts.length);
  });
});

/**
 * The dbt package as another project uses it: dbt/integration_tests on PostgreSQL and on the local BigQuery. Its
 * figures were counted from the calls of the seeds. About 3 minutes, and one for each adapter to install dbt first.
 */
describe('seeds', () => {
  const dbtFolder = resolve(import.meta.dirname, '../../dbt');
  const schema = 'callsync_integration_tests';
  const seedsFolder = useFolder('dbt-seeds');

  interface Place {
    readonly target: Readonly<Record<string, unknown>>;
    readonly vars: Readonly<Record<string, unknown>>;
    close(): Promise<void>;
  }

  const places: Readonly<Record<'postgres' | 'bigquery', () => Promise<Place>>> = {
    async postgres() {
      const database = await createDatabase();
      return { target: postgresTarget(database.url, schema), vars: {}, close: () => database.drop() };
    },
    async bigquery() {
      const place = await useBigQuery();
      const vars = { callsync_schema: place.dataset };
      return { target: bigqueryTarget(place), vars, close: () => Promise.resolve() };
    },
  };

  const runs = [...dbtCores.map((core) => ['postgres', core] as const), ['bigquery', dbtCores[0]] as const];
  test.each(runs)('models of seeds on %s by dbt %s are what was counted', async (adapter, core) => {
    recordCase(`dbt-core with dbt-${adapter}`, core);
    expect(await installDbt(adapter, core)).toBeUndefined();
    const { target, vars, close } = await places[adapter]();
    const project = join(seedsFolder, adapter, core);
    await cp(join(dbtFolder, 'integration_tests'), project, { recursive: true });
    await writeFile(join(project, 'packages.yml'), `packages: [{ local: '${dbtFolder}' }]\n`);
    const dbt = await openDbt({ adapter, folder: seedsFolder, target, project, core });
    await dbt.run(['deps'], {});
    await dbt.run(['seed'], vars);
    const said = await dbt.run(['build', '--exclude-resource-type', 'seed'], vars);
    console.log(adapter, said.trim().split('\n').at(-1));
    expect(said).toMatch(/Done\. PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
    for (const mart of Object.keys(expectedColumns)) expect(said).toMatch(new RegExp(`PASS ${mart}_as_counted `));

    // The test compares counts, so it notices a seed without rows.
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
  });
});
