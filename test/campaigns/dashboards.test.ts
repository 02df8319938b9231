/**
 * Superset, Airflow, Jupyter, dbt and DuckDB with the files that deploy/ and examples/ have for them, over the demo's data. About 5 minutes,
 * and 3 more to install them first, into the cache: too many for the suite. CALLSYNC_SCREENSHOTS=FOLDER keeps the pictures.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderSupersetFiles } from '../../scripts/superset.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { installDbt, programsOf } from '../marts/dbt.ts';
import { openBrowser, pictures } from '../operations/support/browser.ts';
import { useFolder } from '../support/folder.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { runOnServer } from '../support/postgres.ts';
import { program, type Running, startProgram } from '../support/program.ts';
import { root } from '../support/repository.ts';
import { installPython } from '../support/tools.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const deploy = join(root, 'deploy');

const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);

const folder = useFolder('dashboards');
let demo: Running;
let url = '';
beforeAll(async () => {
  demo = startProgram(['demo', '--calls', '600', '--data-dir', folder]);
  await until('the demo', async () => demo.stderr().includes('keeps running'), 600_000);
  const [, file = '', port] = /cat '(\S+)'\) psql -h \S+ -p (\d+)/.exec(demo.stdout()) ?? [];
  url = `postgresql://callsync:${(await readFile(file, 'utf8')).trim()}@127.0.0.1:${port}/callsync`;
}, 700_000);
afterAll(async () => {
  demo?.child.kill('SIGINT');
  await demo?.ended;
}, 120_000);

describe('superset', () => {
  let server: ReturnType<typeof spawn>;
  let address = '';
  const password = 'admin-of-the-campaign';
  beforeAll(async () => {
    const bin = await installPython('superset-5.0.0', ['apache-superset==5.0.0', 'psycopg2-binary', 'marshmallow<4']);
    const home = join(folder, 'superset');
    await cp(join(deploy, 'superset'), join(home, 'pack/superset'), { recursive: true });
    const config = `SECRET_KEY = '${'of a campaign '.repeat(4)}'
SQLALCHEMY_DATABASE_URI = 'sqlite:///${home}/superset.db'
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
`;
    await writeFile(join(home, 'superset_config.py'), config);
    const own = { SUPERSET_CONFIG_PATH: join(home, 'superset_config.py'), SUPERSET_HOME: home };
    const env = { ...process.env, FLASK_APP: 'superset', ...own };
    const place = join(home, 'pack/superset/databases/callsync.yaml');
    await writeFile(place, (await readFile(place, 'utf8')).replace(/^sqlalchemy_uri: .*/m, `sqlalchemy_uri: ${url}`));
    const zip = ['-m', 'zipfile', '-c', '../dashboard.zip', 'superset/'];
    await run(join(bin, 'python'), zip, { cwd: join(home, 'pack') });
    const names = ['--username', 'admin', '--firstname', 'a', '--lastname', 'b', '--email', 'a@example.com'];
    for (const args of [
      ['db', 'upgrade'],
      ['fab', 'create-admin', ...names, '--password', password],
      ['init'],
      ['import-dashboards', '-p', join(home, 'dashboard.zip'), '-u', 'admin'],
    ])
      await run(join(bin, 'superset'), args, { env, cwd: home, maxBuffer: 1e8 });
    const port = await findFreePort();
    address = `http://127.0.0.1:${port}`;
    const served = ['-w', '1', '-k', 'gthread', '--threads', '4', '--timeout', '300', '-b', `127.0.0.1:${port}`];
    const args = [...served, 'superset.app:create_app()'];
    server = spawn(join(bin, 'gunicorn'), args, { env, cwd: home, stdio: 'ignore' });
    const isUp = async () => (await fetch(`${address}/health`).catch(() => undefined))?.ok === true;
    await until('Superset', isUp);
  }, 2_400_000);
  afterAll(() => void server?.kill('SIGTERM'));

  test('every chart of the imported dashboard has rows, and shows no error', async () => {
    recordCase('Superset', '5.0.0');
    const send = async (path: string, init: RequestInit = {}) => {
      const answer = await fetch(`${address}/api/v1/${path}`, init);
      expect(answer.status, path).toBe(200);
      // biome-ignore lint/suspicious/noExplicitAny: answers of another program
      return (await answer.json()) as any;
    };
    const login = { username: 'admin', password, provider: 'db', refresh: false };
    const posted = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(login) };
    const { access_token } = await send('security/login', posted);
    const headers = { authorization: `Bearer ${access_token}` };
    const { result } = await send('dashboard/callsync-calls/charts', { headers });
    const rows: Record<string, number> = {};
    for (const { id, slice_name } of result)
      rows[slice_name] = (await send(`chart/${id}/data/`, { headers })).result[0].rowcount;
    console.log(rows);
    const charts = Object.entries(renderSupersetFiles()).filter(([path]) => path.includes('/charts/'));
    expect(Object.keys(rows).sort()).toEqual(charts.map(([, text]) => parse(text).slice_name).sort());
    expect(Object.entries(rows).filter(([, count]) => count === 0)).toEqual([]);

    const browser = await openBrowser();
    const page = await browser.newPage();
    await page.setViewport({ width: 1400, height: 1370 });
    await page.goto(`${address}/login/`, { timeout: 180_000 });
    await page.waitForSelector('#username', { timeout: 120_000 });
    await page.type('#username', 'admin');
    await page.type('#password', password);
    await Promise.all([page.waitForNavigation({ timeout: 180_000 }), page.keyboard.press('Enter')]);
    await page.goto(`${address}/superset/dashboard/callsync-calls/?standalone=2`, { timeout: 180_000 });
    const count = async (selector: string): Promise<number> => (await page.$$(selector)).length;
    const shown = '.slice_container canvas, .slice_container table, .header-line';
    await until('all charts', async () => (await count(shown)) >= charts.length);
    expect(await count('[data-test="error-alert"], .ant-alert-error')).toBe(0);
    await until('still pictures', async () => (await count('.loading, [data-test="loading-indicator"]')) === 0);
    const picture = join(pictures ?? folder, 'superset.png') as `${string}.png`;
    await page.screenshot({ path: picture });
    expect((await stat(picture)).size).toBeGreaterThan(50_000);
    await browser.close();
  });
});

test('airflow: a task waits for proof, and the next one runs on proven days alone', async () => {
  recordCase('Airflow', '3.3.2');
  const bin = await installPython('airflow-3.3.2', ['apache-airflow==3.3.2']);
  const home = join(folder, 'airflow');
  await mkdir(join(home, 'bin'), { recursive: true });
  const scripts = { callsync: `exec ${process.execPath} ${program} "$@"`, dbt: `echo "$*" >> ${home}/built` };
  for (const [name, text] of Object.entries(scripts))
    await writeFile(join(home, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const core = { AIRFLOW__CORE__DAGS_FOLDER: join(deploy, 'airflow'), AIRFLOW__CORE__LOAD_EXAMPLES: 'False' };
  const own = { CALLSYNC_CONFIG: join(folder, 'demo/callsync.yaml'), CALLSYNC_AWAIT_TIMEOUT: '20s' };
  const PATH = `${home}/bin:${bin}:${process.env.PATH}`;
  const env = { ...process.env, AIRFLOW_HOME: home, ...core, ...own, PATH };
  const airflow = (...args: string[]) => run(join(bin, 'airflow'), args, { env, maxBuffer: 1e8 });
  await airflow('db', 'migrate');
  await expect(airflow('dags', 'test', 'callsync_proven', day(2))).rejects.toThrow();
  expect(existsSync(join(home, 'built'))).toBe(false);
  await airflow('dags', 'test', 'callsync_proven', day(-3));
  expect(await readFile(join(home, 'built'), 'utf8')).toBe('build\n');
});

test('notebook: runs over the marts and draws', async () => {
  recordCase('nbconvert', '7.17.2');
  const packages = await readFile(join(deploy, 'notebook/requirements.txt'), 'utf8');
  const bin = await installPython('notebook-pinned', packages.trim().split('\n'));
  const place = join(folder, 'notebook');
  await cp(join(deploy, 'notebook'), place, { recursive: true });
  const args = ['--to', 'notebook', '--execute', '--output', 'done.ipynb', 'calls.ipynb'];
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, CALLSYNC_PG: url };
  await run(join(bin, 'jupyter-nbconvert'), args, { cwd: place, env });
  for (const name of ['calls', 'talk']) {
    expect((await stat(join(place, `${name}.png`))).size).toBeGreaterThan(5_000);
    if (pictures !== undefined) await copyFile(join(place, `${name}.png`), join(pictures, `notebook-${name}.png`));
  }
});

describe('examples', () => {
  const example = (name: string) => join(root, 'examples', name);
  const config = () => join(folder, 'demo/callsync.yaml');

  test('dbt-behind-await builds on proven days, and on others ends with the code of callsync', async () => {
    expect(await installDbt('postgres')).toBeUndefined();
    const project = join(folder, 'dbt/examples/dbt-behind-await');
    await cp(example('dbt-behind-await'), project, { recursive: true });
    await cp(join(root, 'dbt'), join(folder, 'dbt/dbt'), { recursive: true });
    const bin = join(folder, 'dbt/bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'callsync'), `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`, { mode: 0o755 });
    const { hostname, port, username, password, pathname } = new URL(url);
    const login = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password };
    const PATH = `${bin}:${programsOf('postgres')}:${process.env.PATH}`;
    const own = { PATH, PGDATABASE: pathname.slice(1), CALLSYNC_CONFIG: config(), TIMEOUT: '20s' };
    const env = { ...process.env, ...login, ...own };
    const build = (from: number, to: number) =>
      run(join(project, 'build.sh'), [day(from), day(to)], { env, maxBuffer: 1e8 });
    const built = () => runOnServer(url, "SELECT to_regclass('our_house.weekly_calls') IS NOT NULL AS built");
    await expect(build(1, 2)).rejects.toMatchObject({ code: 2 });
    expect((await built()).rows).toEqual([{ built: false }]);
    expect((await build(-4, -2)).stdout).toMatch(/Done\. PASS=\d+ WARN=0 ERROR=0 SKIP=0/);
    const weeks = await runOnServer(url, 'SELECT sum(calls)::int AS calls FROM our_house.weekly_calls');
    const timed = 'SELECT count(*)::int AS calls FROM calls.calls WHERE call_timestamp IS NOT NULL';
    const calls = await runOnServer(url, timed);
    expect(weeks.rows[0].calls).toBeGreaterThan(0.9 * calls.rows[0].calls);
  });

  test('parquet-in-duckdb answers its questions', async () => {
    const bin = await installPython('duckdb-1.5.5', ['duckdb==1.5.5']);
    const files = join(folder, 'parquet');
    await run(process.execPath, [program, 'export', files, '--format', 'parquet', '--config', config()]);
    const { stdout } = await run(join(bin, 'python'), [join(example('parquet-in-duckdb'), 'ask.py'), files]);
    const { calls } = (await runOnServer(url, 'SELECT count(DISTINCT call_id)::int AS calls FROM calls.tags')).rows[0];
    expect(stdout.match(/^-- /gm)).toHaveLength(4);
    expect(stdout).toMatch(/│ IN +│ in +│ +\d+ │/);
    expect(calls).toBeGreaterThan(100);
  });
});
