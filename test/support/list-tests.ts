/**
 * The needs of each test file, by its imports under test/. They are nothing (`fast`), databases and services within its
 * own process (`stores`), or processes of callsync and servers of its own (`servers`).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const needs = ['fast', 'stores', 'servers'] as const;
type Need = (typeof needs)[number];

/** They start processes or Temporal, or run the built command. */
const processes = [
  /^test\/(e2e|local)\//,
  /^test\/replay\/record-histories\.ts$/,
  /^test\/support\/(temporal|cli|program|installation|image|pgbouncer|receiver-process)\.ts$/,
  /^test\/webhook\/support\/child\.ts$/,
  /^src\/local\//,
];
/** They ask for PostgreSQL, BigQuery or the simulated service, or take long. */
const services = [
  /^test\/support\/(postgres|bigquery|shared-server)\.ts$/,
  /^test\/webhook\/support\/inbox-database\.ts$/,
  /^test\/(pipeline\/read\/late-edits-cases|support\/analyzer)\.ts$/,
  /^src\/simulator\/start-simulator\.ts$/,
];

const imports = /^(?:import|export)\s(?!type\b)[^;]*?from '(\.[^']+\.ts)'/gm;

const needOf = (path: string, known: Map<string, number>): number => {
  if (processes.some((pattern) => pattern.test(path))) return 2;
  if (services.some((pattern) => pattern.test(path))) return 1;
  if (!path.startsWith('test/')) return 0;
  const before = known.get(path);
  if (before !== undefined) return before;
  known.set(path, 0);
  const targets = [...readFileSync(join(root, path), 'utf8').matchAll(imports)].map(([, specifier = '']) =>
    relative(root, resolve(root, dirname(path), specifier)),
  );
  const need = Math.max(0, ...targets.map((target) => needOf(target, known)));
  known.set(path, need);
  return need;
};

export const listTests = (): Readonly<Record<Need, readonly string[]>> => {
  const known = new Map<string, number>();
  const listed: Record<Need, string[]> = { fast: [], stores: [], servers: [] };
  for (const entry of readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })) {
    const path = relative(root, join(entry.parentPath, entry.name));
    if (!path.endsWith('.test.ts') || path.startsWith('test/campaigns/')) continue;
    listed[needs[needOf(path, known)] ?? 'servers'].push(path);
  }
  return listed;
};
