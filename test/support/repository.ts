/** Files of this repository, by their paths from its root. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Text of each module of the product, by its path. */
export const modules: ReadonlyMap<string, string> = new Map(
  ['src', 'activities', 'workflows', 'schemas'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.name.endsWith('.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .map((path) => [path, read(path)] as const),
  ),
);
