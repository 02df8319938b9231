/** Files of the package and those that `npm run build` makes, from where the running file is: within dist/, or among the sources beside it. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { terminal } from './errors.ts';

/**
 * @param from `import.meta.url` of the file that asks.
 * @param places relative to it, the first that exists counts.
 * @throws CallsyncError BUILD_MISSING before the build.
 */
export const findBuilt = (from: string, ...places: readonly string[]): string => {
  const paths = places.map((place) => fileURLToPath(new URL(place, from)));
  const found = paths.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw terminal('BUILD_MISSING', `callsync is not built: ${paths[0]} does not exist.`, { hint: 'Run npm run build.' });
};

/** A file of the package, which is beside dist/ or src/. */
export const readShipped = (name: string): string =>
  readFileSync(findBuilt(import.meta.url, `../../../${name}`, `../../${name}`), 'utf8');

/** The version of the package. */
export const readVersion = (): string => (JSON.parse(readShipped('package.json')) as { version: string }).version;
