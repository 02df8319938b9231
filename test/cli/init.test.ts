/** From nothing to a configuration that works, and looking at it: init, status --watch. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { psqlLine } from '../../src/cli/psql-line.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts';
import { type CliFolder, openCliFolder } from '../support/cli.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

let simulator: Simulator;
let folder: CliFolder;
let database: TestDatabase;
beforeAll(async () => {
  simulator = await startSimulator({ calls: { count: 40 } });
  folder = await openCliFolder();
  database = await createDatabase();
});
afterAll(async () => {
  await simulator.stop();
  await folder.remove();
  await database.drop();
});

const init = (...options: readonly string[]) => folder.run(['init', ...options]);

test('asks the service, writes what it found under the meaning of each key, and replaces nothing', async () => {
  const secret = await folder.write('secret', simulator.clientSecret);
  const access = ['--auth-url', simulator.authUrl, '--realm', simulator.realm, '--client-id', simulator.clientId];
  const options = ['--yes', '--base-url', simulator.url, ...access, '--client-secret-file', secret, '--no-doctor'];
  const result = await init(...options);
  expect(result).toMatchObject({ code: 0, stdout: '' });
  const path = join(folder.path, 'callsync.yaml');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const text = await readFile(path, 'utf8');
  expect(text).toContain('  # Client id issued by the account manager.\n  client_id: ');
  expect(text).not.toContain(simulator.clientSecret);
  const { config } = await loadConfig({ path });
  expect(config.source.list).toMatchObject({ records: 'data', pagination: { style: 'offset' } });
  expect(config.warehouses).toMatchObject({ postgres: { type: 'postgres' } });
  expect(await init(...options)).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') });
  expect(await readFile(path, 'utf8')).toBe(text);
});

test('writes everything that can be said by options', async () => {
  const path = join(folder.path, 'all.yaml');
  const secret = await folder.write('signing', 'a signing secret of enough length');
  const warehouse = ['--warehouse', 'bigquery', '--project', 'acme', '--preset', 'activate'];
  const webhook = ['--signing-secret-file', secret, '--public-url', 'https://hooks.example.com/webhook'];
  const common = ['--yes', '--config', path, '--base-url', 'https://api.example.com', '--no-doctor'];
  expect(await init(...common, ...warehouse, ...webhook)).toMatchObject({ code: 0 });
  expect((await loadConfig({ path })).config).toMatchObject({
    source: { base_url: 'https://api.example.com' },
    warehouses: { bigquery: { type: 'bigquery', project: 'acme' } },
    webhook: { enabled: true, public_url: webhook[3], secrets: [{ name: 'current', secret_file: secret }] },
  });
});

test('says what is missing where nobody can be asked', async () => {
  expect(await init('--config', 'none.yaml')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect(await init('--config', 'none.yaml', '--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--base-url'),
  });
});

test('status --watch shows the state again and again until it is stopped', async () => {
  await appendFile(join(folder.path, 'callsync.yaml'), stringify({ store: { url: database.url } }));
  const program = resolve(import.meta.dirname, '../../dist/src/cli/main.js');
  const child = spawn(process.execPath, [program, 'status', '--watch', '0.1', '--json'], { cwd: folder.path });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  await expect.poll(() => said.split('\n').length, { timeout: 40_000 }).toBeGreaterThan(2);
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  for (const line of said.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ calls: 0 });
});

test('the line that opens the database in psql holds no password', async () => {
  const { config } = await loadConfig({ path: join(folder.path, 'all.yaml') });
  expect(psqlLine(config, 'postgres://callsync:hush@127.0.0.1:5433/callsync')).toMatch(
    /^PGPASSWORD=\$\(cat '.*callsync\.password'\) psql -h 127\.0\.0\.1 -p 5433 -U callsync callsync$/,
  );
  const configured = { store: { ...config.store, url: 'x' } };
  expect(psqlLine(configured, () => 'postgres://me:hush@db.example.com/calls')).toBe(
    'psql -h db.example.com -p 5432 -U me calls',
  );
});
