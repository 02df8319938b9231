/** From nothing to a configuration that works. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { psqlLine } from '../../src/app/services.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';
import { openCliAndService } from '../support/cli.ts';
import { program } from '../support/program.ts';
import { openSimulator } from '../support/simulator.ts';

const { simulator, folder } = await openCliAndService({ calls: { count: 40 } });

const init = (...options: readonly string[]) => folder.run(['init', ...options]);
const accessOf = async (of: SimulatorAddresses): Promise<readonly string[]> => {
  const secret = await folder.write('secret', of.clientSecret);
  const who = ['--realm', of.realm, '--client-id', of.clientId, '--client-secret-file', secret];
  return ['--yes', '--base-url', of.url, '--auth-url', of.authUrl, ...who];
};

test('asks the service, writes what it found under the meaning of each key, and replaces nothing', async () => {
  const options = [...(await accessOf(simulator)), '--no-doctor'];
  expect(await init(...options)).toMatchObject({ code: 0, stdout: '' });
  const path = join(folder.path, 'callsync.yaml');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const text = await readFile(path, 'utf8');
  expect(text).toContain('  # Client id issued by the account manager.\n  client_id: ');
  expect(text).not.toContain(simulator.clientSecret);
  const { config } = await loadConfig({ path });
  expect(config.source.list).toMatchObject({ records: 'data', pagination: { style: 'offset' } });
  expect(config.warehouses).toMatchObject({ postgres: { type: 'postgres' } });
  expect(config.store.data_dir).toBe(join(folder.path, '.callsync'));
  expect(await init(...options)).toMatchObject({ code: 2, stderr: expect.stringContaining('is there already') });
  expect(await readFile(path, 'utf8')).toBe(text);
});

test('writes no configuration where the file of a secret is not there, so that a second try succeeds', async () => {
  const given = ['--yes', '--base-url', simulator.url, '--no-doctor', '--config', 'later.yaml'];
  const refused = await init(...given, '--client-secret-file', 'not-there');
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('not-there does not exist') });
  const second = await init(...(await accessOf(simulator)), '--no-doctor', '--config', 'later.yaml');
  expect(second).toMatchObject({ code: 0 });
});

test('checks the service within the request limit that asking it has used', async () => {
  const calls = { count: 40 };
  const limited = await openSimulator({ dialect: 'nested_records', calls, rateLimit: { requests: 40, seconds: 10 } });
  const wrong = [...(await accessOf(limited)), '--realm', 'wrong', '--no-probe', '--config', 'wrong.yaml'];
  expect((await init(...wrong)).stderr).toMatch(/Next: correct each FAILED .*doctor/);
  const { stdout, stderr } = await init(...(await accessOf(limited)), '--json', '--config', 'limited.yaml');
  const { requests } = await limited.stats();
  expect(requests.list).toBeGreaterThanOrEqual(25);
  const { findings } = JSON.parse(stdout) as { findings: { check: string; outcome: string }[] };
  expect(findings, stderr).toContainEqual(expect.objectContaining({ check: 'list', outcome: 'ok' }));
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

/** Gives what it runs a terminal of its own, and is that terminal's keyboard and screen. */
const terminal = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
const clearLine = '\u0015';
const down = '\u001b[B';

test('asks on a terminal, takes no nonsense, and shows no secret', async () => {
  const command = [process.execPath, program, 'init', '--config', 'asked.yaml', '--no-probe', '--no-doctor'];
  const child = spawn('python3', ['-c', terminal, ...command], { cwd: folder.path });
  let screen = '';
  child.stdout.on('data', (chunk: Buffer) => (screen += chunk.toString('utf8')));
  const ended = once(child, 'exit');
  const answer = async (question: string, typed: string): Promise<void> => {
    await expect.poll(() => stripVTControlCharacters(screen)).toContain(question);
    child.stdin.write(`${typed}\r`);
  };
  const answers = {
    'Address of the call API': 'nonsense',
    'Use an address such as': `${clearLine}https://api.example.com`,
    'Address of the identity provider': 'https://login.example.com',
    Realm: 'main',
    'Client id': 'me',
    'Client secret': 'hush-hush',
    'How does the call list work?': down,
    'Where do the calls go?': '',
    'File that holds the connection URL': '',
    'Does the service send webhooks here?': 'y',
    'Signing secret of the webhooks': 'a signing secret of enough length',
    'Public address of the receiver': '',
  };
  for (const [question, typed] of Object.entries(answers)) await answer(question, typed);
  expect((await ended)[0]).toBe(0);
  expect(screen).not.toContain('hush-hush');
  const { config } = await loadConfig({ path: join(folder.path, 'asked.yaml') });
  const addresses = { base_url: 'https://api.example.com', auth_url: 'https://login.example.com' };
  expect(config).toMatchObject({
    source: { ...addresses, realm: 'main', client_id: 'me', list: { preset: 'activate' } },
    webhook: { enabled: true, secrets: [{ secret_file: join(folder.path, 'signing-secret') }] },
  });
  expect(await readFile(join(folder.path, 'client-secret'), 'utf8')).toBe('hush-hush');
  expect((await stat(join(folder.path, 'client-secret'))).mode & 0o777).toBe(0o600);
});

test('says what is missing where nobody can be asked', async () => {
  expect(await init('--config', 'none.yaml')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  const expected = { code: 2, stderr: expect.stringContaining('--base-url') };
  expect(await init('--config', 'none.yaml', '--yes')).toMatchObject(expected);
});

test('the line that opens the database in psql holds no password', async () => {
  const { config } = await loadConfig({ path: join(folder.path, 'all.yaml') });
  const local = /^PGPASSWORD=\$\(cat '.*callsync\.password'\) psql -h 127\.0\.0\.1 -p 5433 -U callsync callsync$/;
  expect(psqlLine(config, 'postgres://callsync:hush@127.0.0.1:5433/callsync')).toMatch(local);
  const line = psqlLine({ store: { ...config.store, url: 'x' } }, () => 'postgres://me:hush@db.example.com/calls');
  expect(line).toBe('psql -h db.example.com -p 5432 -U me calls');
});
