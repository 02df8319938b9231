import { existsSync, readFileSync } from 'node:fs';

/** Version of the package, from its package.json beside dist/ or src/. */
export const readVersion = (): string => {
  const places = ['../../../../package.json', '../../../package.json'].map((place) => new URL(place, import.meta.url));
  const file = places.find((place) => existsSync(place));
  return file === undefined ? 'unknown' : (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};
