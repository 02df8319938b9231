/**
 * The test files that need nothing (`fast`), and those that need databases, services or processes (`servers`), by their
 * imports under test/.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** They ask for PostgreSQL, Temporal, BigQuery or the simulated service, start processes, run the built command, or take long. */
const needy = [
  /^test\/(e2e|local)\//,
  /^test\/replay\/record-histories\.ts$/,
  /^test\/support\/(postgres|temporal|bigquery|shared-server|cli|program|installation|pgbouncer|receiver-process|analyzer)\.ts$/,
  /^test\/webhook\/support\/(child|inbox-database)\.ts$/,
  /^test\/pipeline\/read\/late-edits-cases\.ts$/,
  /^src\/(local\/|simulator\/start-simulator\.ts$)/,
];

const imports = /^(?:import|export)\s(?!type\b)[^;]*?from '(\.[^']+\.ts)'/gm;

const isNeedy = (path: string, known: Map<string, boolean>): boolean => {
  if (needy.some((pattern) => pattern.test(path))) return true;
  if (!path.startsWith('test/')) return false;
  const before = known.get(path);
  if (before !== undefined) return before;
  known.set(path, false);
  const found = [...readFileSync(join(root, path), 'utf8').matchAll(imports)].some(([, specifier = '']) =>
    isNeedy(relative(root, resolve(root, dirname(path), specifier)), known),
  );
  known.set(path, found);
  return found;
};

export const listTests = (): Readonly<Record<'fast' | 'servers', readonly string[]>> => {
  const known = new Map<string, boolean>();
  const listed: Record<'fast' | 'servers', string[]> = { fast: [], servers: [] };
  for (const entry of readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })) {
    const path = relative(root, join(entry.parentPath, entry.name));
    if (!path.endsWith('.test.ts') || path.startsWith('test/campaigns/')) continue;
    listed[isNeedy(path, known) ? 'servers' : 'fast'].push(path);
  }
  return listed;
};
