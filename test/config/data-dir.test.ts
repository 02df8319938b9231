import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDataDir } from '../../src/config/data-dir.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callsync-data-dir-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('makes what is missing, also when several ask at once, and takes what is there', async () => {
  const dir = join(folder, 'some', 'where', 'below');
  await Promise.all([makeDataDir(dir), makeDataDir(dir), makeDataDir(join(dir, 'deeper'))]);
  expect(existsSync(join(dir, 'deeper'))).toBe(true);
  await makeDataDir(dir);
});

test('refuses a path through a file', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(makeDataDir(join(folder, 'file', 'below'))).rejects.toMatchObject({
    code: 'CONFIG_DATA_DIR',
    kind: 'terminal',
    message: expect.stringContaining('ENOTDIR'),
  });
});

// A recursive mkdir never returned there.
test.runIf(process.platform === 'linux')('refuses a parent that takes no folders', async () => {
  await expect(makeDataDir('/proc/no/folder')).rejects.toMatchObject({ code: 'CONFIG_DATA_DIR' });
});
