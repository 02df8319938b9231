/** Which test files need no server: neither they nor what they import under test/ reaches one of these. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
/** They start or ask for PostgreSQL, Temporal, BigQuery or the simulated service, run the built command, or take long. */
const heavy = [
  /^test\/(e2e|local|campaigns)\//,
  /^test\/replay\/record-histories\.ts$/,
  /^test\/support\/(postgres|temporal|bigquery|shared-server|cli|program)\.ts$/,
  /^test\/webhook\/support\/(child|inbox-database)\.ts$/,
  /^test\/rereads\/late-edits-cases\.ts$/,
  /^src\/local\//,
  /^src\/simulator\/start-simulator\.ts$/,
];

const imports = /^(?:import|export)\s(?!type\b)[^;]*?from '(\.[^']+\.ts)'/gm;

const needsServer = (path: string, known: Map<string, boolean>): boolean => {
  if (heavy.some((pattern) => pattern.test(path))) return true;
  if (!path.startsWith('test/')) return false;
  const before = known.get(path);
  if (before !== undefined) return before;
  known.set(path, false);
  const targets = [...readFileSync(join(root, path), 'utf8').matchAll(imports)].map(([, specifier = '']) =>
    relative(root, resolve(root, dirname(path), specifier)),
  );
  const needs = targets.some((target) => needsServer(target, known));
  known.set(path, needs);
  return needs;
};

export const listFastTests = (): readonly string[] => {
  const known = new Map<string, boolean>();
  return readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name.endsWith('.test.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !needsServer(path, known));
};
