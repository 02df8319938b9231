/** Files of the package, and those that `npm run build` makes in dist/. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { terminal } from './errors.ts';

/** This file runs within dist/, or among the sources beside it. */
const dist = new URL(import.meta.url.endsWith('.ts') ? '../../dist/' : '../../', import.meta.url);

/** @param path below dist/. @throws CallsyncError BUILD_MISSING before the build. */
export const findBuilt = (path: string): string => {
  const found = fileURLToPath(new URL(path, dist));
  if (existsSync(found)) return found;
  throw terminal('BUILD_MISSING', `callsync is not built: ${found} does not exist.`);
};

/** A file of the package, which is beside dist/. */
export const readShipped = (name: string): string => readFileSync(new URL(`../${name}`, dist), 'utf8');

/** The version of the package. */
export const readVersion = (): string => (JSON.parse(readShipped('package.json')) as { version: string }).version;
