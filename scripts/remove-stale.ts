/** Removes files without a source from dist/: a renamed migration would otherwise run under both names. */
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Made by the build itself, from no single source. */
const made = new Set(['built', 'workflow-bundle.js']);

/** @returns the removed files, relative to `dist`. */
export const removeStale = async (root: string, dist: string): Promise<readonly string[]> => {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true });
  const stale = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dist, join(entry.parentPath, entry.name)))
    .filter((path) => !made.has(path) && !existsSync(join(root, path.replace(/\.js(\.map)?$/, '.ts'))));
  for (const path of stale) await rm(join(dist, path));
  return stale;
};
