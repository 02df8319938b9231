import { spawnSync } from 'node:child_process';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import os, { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { makeDataDir, resolveDataDir } from '../../src/config/data-dir.ts';
import { openOwnSecret, openSecret } from '../../src/lib/secret.ts';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import { findTemporalCli } from '../../src/local/temporal-server.ts';
import { recordChainHead } from '../../src/store/windows/chain.ts';
import { readSigningKey } from '../../src/webhook/server/signature.ts';
import { openSpool } from '../../src/webhook/spool/spool.ts';
import { useFolder } from '../support/folder.ts';

const folder = useFolder('data-dir');
const file = join(folder, 'secret');
const builtSecret = new URL('../../dist/src/lib/secret.js', import.meta.url);

test('a secret takes a file before a value, again when replaced, and names key and path of a lost one', () => {
  writeFileSync(file, 'one\n');
  const secret = openSecret({ key: 'temporal.api_key', value: 'zero', file });
  expect(secret?.read()).toBe('one');
  writeFileSync(`${file}.new`, 'two\n');
  renameSync(`${file}.new`, file);
  expect(secret?.read()).toBe('two');
  writeFileSync(file, ' \n');
  expect(() => secret?.read()).toThrow(`The file of temporal.api_key_file is empty: ${file}.`);
  rmSync(file);
  expect(() => secret?.read()).toThrow(`The file of temporal.api_key_file cannot be read: ${file}.`);
});

test('a disk without room leaves no empty key of our own, which the next start would refuse', () => {
  const make = `import('${builtSecret}').then(({ openOwnSecret }) => openOwnSecret('store.proof_key', '${file}-own'))`;
  const { stderr } = spawnSync('sh', ['-c', `ulimit -f 0; exec '${process.execPath}' -e "$0"`, make]);
  expect([String(stderr), existsSync(`${file}-own`)]).toEqual([expect.stringContaining('(EFBIG)'), false]);
});

test('a secret is nothing when nothing is configured, and keeps its every byte but the line end', () => {
  const open = (value?: string) => openSecret({ key: 'store.url', value });
  expect([open(), open(''), open('v')?.read()]).toEqual([undefined, undefined, 'v']);
  const bytes = Buffer.from([0x20, 0xff, 0xfe, 0x20]);
  writeFileSync(file, Buffer.concat([bytes, Buffer.from('\r\n')]));
  expect(openSecret({ key: 'webhook.secrets[0].secret', file })?.readBytes()).toEqual(bytes);
});

test.each(['key', 'key\n', 'key\r\n', '\ufeffkey\n'])('a secret or key is one from a file and a value: %j', (text) => {
  writeFileSync(file, text);
  for (const from of [{ file }, { value: text }]) {
    const secret = openSecret({ key: 'source.client_secret', ...from });
    expect([secret?.read(), String(secret?.readBytes())]).toEqual(['key', 'key']);
  }
  for (const from of [{ secret: text }, { secret_file: file }])
    expect(String(readSigningKey([{ name: 'same', ...from }]).secret)).toBe('key');
});

test('the data folder is the configured one, with ~ for the home folder, and has its own place for root', () => {
  expect(resolveDataDir('~/data')).toBe(join(homedir(), 'data'));
  expect(resolveDataDir('/data')).toBe('/data');
  const expected = process.getuid?.() === 0 ? '/var/lib/callsync' : '/share/callsync';
  expect(resolveDataDir(undefined, { XDG_DATA_HOME: '/share' })).toBe(expected);
});

test('an account without a name has no home folder: errors name the setting, and a set folder needs none', async () => {
  vi.spyOn(os, 'homedir').mockImplementation(() => {
    throw new Error('ENOENT');
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  syncBuiltinESMExports();
  expect(resolveDataDir('/data')).toBe('/data');
  const hint = (key: string) => ({ kind: 'terminal', code: 'NO_HOME', hint: expect.stringContaining(key) });
  vi.spyOn(process, 'getuid').mockReturnValue(54_321);
  for (const configured of ['~/data', undefined])
    expect(() => resolveDataDir(configured, {})).toThrow(expect.objectContaining(hint('store.data_dir')));
  expect(() => cacheFolderOf('tool', {})).toThrow(expect.objectContaining(hint('XDG_CACHE_HOME')));
  expect(cacheFolderOf('tool', { XDG_CACHE_HOME: '/cache' })).toBe('/cache/callsync/tool');
  expect(await findTemporalCli({ configured: process.execPath, env: {} })).toBe(process.execPath);
});

test('makes what is missing, also when several ask at once, and takes what is there', async () => {
  const dir = join(folder, 'some', 'where', 'below');
  await Promise.all([makeDataDir(dir), makeDataDir(dir), makeDataDir(join(dir, 'deeper'))]);
  expect(existsSync(join(dir, 'deeper'))).toBe(true);
  await makeDataDir(dir);
});

test('refuses a path through a file', async () => {
  await writeFile(join(folder, 'file'), '');
  const refusal = { code: 'CONFIG_DATA_DIR', kind: 'terminal', message: expect.stringContaining('ENOTDIR') };
  await expect(makeDataDir(join(folder, 'file', 'below'))).rejects.toMatchObject(refusal);
});

// As root, PostgreSQL runs under another account, and its folder is in the same one.
describe('a data folder that another file is the first in can be passed by other accounts', () => {
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  const note = () => undefined;
  const tx = { query: note, column: () => [] };
  const alone = { transaction: (work: (tx: unknown) => unknown) => work(tx) } as never;
  const settings = { max_bytes: 10_000, min_free_bytes: 0, segment_bytes: 1_000, damaged_retention: 1_000 };
  const log = { info: note, warn: note, error: note };
  const verdict = { warehouse: 'main', ledger_epoch: 1, verdict_id: 1, digest: 'd' };
  test.each<[string, (file: string) => Promise<unknown>, number]>([
    ['a key', async (file) => openOwnSecret('store.proof_key', file), 0o600],
    ['the heads of the proof chain', (file) => recordChainHead(alone, file, verdict), 0o600],
    ['the spool', async (dir) => (await openSpool({ dir, config: settings, lockWaitMs: 0, log })).close(), 0o700],
  ])('%s', async (what, make, mode) => {
    const file = join(folder, what, 'data', 'own');
    await make(file);
    expect(await Promise.all([file, dirname(file), dirname(dirname(file))].map(modeOf))).toEqual([mode, 0o711, 0o711]);
  });
});
