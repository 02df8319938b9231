/** A verdict that warehouse `main` is complete, as reconciling leaves it in the store, with its row loaded. */

import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { storeConfigSchema } from '../../schemas/config/store.ts';
import type { Range } from '../../schemas/orchestration.ts';
import { callTables, tableOf } from '../../schemas/tables.ts';
import { openErasures } from '../../src/app/open-rules.ts';
import { issueEpoch } from '../../src/store/loads/warehouses.ts';
import { openStore } from '../../src/store/store.ts';
import { markVerdictsLoaded } from '../../src/store/windows/verdicts.ts';
import { openCliFolder } from '../support/cli.ts';
import { closedPort } from '../support/closed-port.ts';
import { useFolder } from '../support/folder.ts';
import { useOpened } from '../support/opened.ts';
import { connect, runOnServer } from '../support/postgres.ts';
import { judge } from '../support/verdicts.ts';
import { analytics, changeCall } from './analytics.ts';
import { askMetrics, compareIncremental, compareModels } from './compare-models.ts';
import { installDbt, openDbt, postgresTarget, settingsVars } from './dbt.ts';
import { dayMicros, stateRow } from './log-rows.ts';
import { fillPostgres, readChangedCalls } from './two-warehouses.ts';

const proveRange = async (url: string, data_dir: string, range: Range): Promise<void> => {
  const settings = { store: storeConfigSchema.parse({ data_dir }), privacy: privacyConfigSchema.parse({}) };
  const store = await openStore({ url, erasures: () => openErasures(settings) });
  await issueEpoch(store, 'test', 0);
  const { verdict_id } = await judge(store, range);
  await markVerdictsLoaded(store, [verdict_id]);
  await store.close();
};

/**
 * The dbt package with the real dbt on PostgreSQL. It builds on proof, and each of its models has the rows of the view
 * of the same meaning.
 */
const missing = await installDbt('postgres');
if (missing !== undefined) console.warn(`The dbt package is not run: dbt cannot be installed here (${missing}).`);

describe.skipIf(missing !== undefined)('the dbt package', () => {
  const folder = useFolder('dbt');
  const here = useOpened(async () => fillPostgres(await readChangedCalls(changeCall)));
  beforeAll(() => here.postgres.applyMarts(analytics));
  const dbt = useOpened(() =>
    openDbt({ adapter: 'postgres', folder, target: postgresTarget(here.postgresUrl, 'dbt') }),
  );

  test('builds once await says that its days are proven, with all its tests and unit tests', async () => {
    const cli = await openCliFolder();
    await cli.configure({
      source: { base_url: `http://127.0.0.1:${closedPort}`, token: 'none' },
      store: { url: here.postgresUrl },
      warehouses: { main: { type: 'postgres' } },
    });
    const days = { from: here.firstDay, to: here.firstDay + 4 * dayMicros };
    const [from, to] = [days.from, days.to].map((micros) => new Date(micros / 1000).toISOString());
    /** callsync await … && dbt build */
    const buildOnProof = async (): Promise<string | number | null> => {
      const { code } = await cli.run(['await', '--proven', '--timeout', '0', '--from', `${from}`, '--to', `${to}`]);
      return code === 0 ? await dbt.run(['build']) : code;
    };
    expect(await buildOnProof()).toBe(5);
    await proveRange(here.postgresUrl, join(cli.path, 'data'), days);
    const said = String(await buildOnProof());
    await cli.remove();
    expect(said).toMatch(/Done\. PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
    const views = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'calls_marts'";
    const names = (await here.postgres.ask(views)).map(({ table_name }) => table_name as string);
    await compareModels(folder, here.postgres, names);
    const { resolved_share, ...figures } = await askMetrics(folder, here.postgres);
    // No two days in a row are proven here, so no call counts as resolved.
    expect(resolved_share).toBe(0);
    expect(Object.keys(figures)).toHaveLength(9);
    expect(figures.calls).toBe(here.documents.length);
    for (const [metric, value] of Object.entries(figures)) expect(value, metric).toBeGreaterThan(0);
  });

  test('takes the freshness of its sources from sync_state, in any schema: a heartbeat long ago is an error', async () => {
    const view = 'CREATE SCHEMA "Elsewhere" CREATE VIEW sync_state AS SELECT * FROM calls.sync_state';
    await runOnServer(here.postgresUrl, view);
    const vars = { ...settingsVars, callsync_schema: 'Elsewhere' };
    const freshness = () => dbt.run(['source', 'freshness', '--select', 'source:callsync.calls'], vars);
    await expect(freshness()).rejects.toThrow(/ERROR STALE/);
    const now = Date.now() * 1000;
    await here.postgres.warehouse.recordState(stateRow({ watermark: now, proven_through: now, heartbeat_at: now }));
    expect(await freshness()).toMatch(/PASS freshness/);
  });

  test('keeps no row of a call that the warehouse has no more, also without a build', async () => {
    const client = await connect(here.postgresUrl);
    const column = async (sql: string) => (await client.query<{ one: string }>(sql)).rows.map(({ one }) => one);
    const models = await column(`SELECT format('%I.%I', table_schema, table_name) AS one
      FROM information_schema.columns WHERE table_schema LIKE 'dbt%' AND column_name = 'call_id'`);
    const spoken = 'SELECT call_id AS one FROM calls.calls WHERE word_count > 0 AND tag_count > 0 LIMIT 1';
    const where = `WHERE call_id = '${await column(spoken)}'`;
    const withCall = () =>
      column(models.map((model) => `SELECT '${model}' AS one FROM ${model} ${where}`).join(' UNION '));
    expect((await withCall()).length).toBeGreaterThan(10);
    for (const { name } of [...callTables, tableOf('changes'), tableOf('deliveries')])
      if (name !== 'documents') await client.query(`DELETE FROM calls.${name} ${where}`);
    expect(await withCall()).toEqual([]);
    await client.end();
  });

  test('builds the rows of changed calls alone where it is incremental', async () => {
    const execute = (sql: string) => runOnServer(here.postgresUrl, sql);
    await compareIncremental(dbt, folder, here.postgres, execute, settingsVars);
  });
});
