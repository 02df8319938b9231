/** Files of our own, and those of the build. */
import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { findBuilt } from '../../src/lib/find-built.ts';
import { replaceFile } from '../../src/lib/new-folder.ts';
import { useFolder } from '../support/folder.ts';

const folder = useFolder('files');

test('a file that cannot be replaced leaves nothing beside it', async () => {
  await mkdir(join(folder, 'taken'));
  await expect(replaceFile(join(folder, 'taken'), 'content')).rejects.toThrow('EISDIR');
  expect(await readdir(folder)).toEqual(['taken']);
});

test('a file that the build lacks is named by its whole path', () => {
  expect(() => findBuilt('src/none.js')).toThrow(`${resolve('dist/src/none.js')} does not exist`);
});
