import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { removeStale } from '../../scripts/remove-stale.ts';
import { useFolder } from '../support/folder.ts';

const root = useFolder('stale');

test('what has no source goes from dist, everything else stays', async () => {
  const dist = join(root, 'dist');
  const write = (path: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
  };
  const kept = ['dist/built', 'dist/workflow-bundle.js', 'dist/src/fold.js', 'dist/src/fold.js.map', 'dist/src/a.sql'];
  const gone = ['dist/src/unfold.js', 'dist/src/unfold.js.map', 'dist/src/old/0003_renamed.sql'];
  for (const path of ['src/fold.ts', 'src/a.sql', ...kept, ...gone]) write(path);
  expect((await removeStale(root, dist)).map((path) => `dist/${path}`).sort()).toEqual([...gone].sort());
  expect(kept.every((path) => existsSync(join(root, path)))).toBe(true);
  expect(gone.some((path) => existsSync(join(root, path)))).toBe(false);
});
