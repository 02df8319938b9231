/** Files that `npm run build` makes, from where the running file is: within dist/, or among the sources beside it. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * @param from `import.meta.url` of the file that asks.
 * @param places relative to it, the first that exists counts.
 * @returns undefined before the build.
 */
export const findBuilt = (from: string, ...places: readonly string[]): string | undefined =>
  places.map((place) => fileURLToPath(new URL(place, from))).find((path) => existsSync(path));
