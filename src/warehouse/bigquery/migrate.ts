/** Creates missing datasets, tables and views, and adds missing columns. Never drops anything. */

import { terminal } from '../../lib/errors.ts';
import { dayMs } from '../../lib/timestamps.ts';
import { describeView, type View } from '../warehouse.ts';
import type { Connection, RestRequest } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { quote, type Relation, relationsOf, typeSql, wordsOf } from './ddl.ts';
import { type Queries, standardType, type WireField } from './queries.ts';
import { retry, unless } from './retry.ts';

export const migrate = async (deps: Connection, queries: Queries): Promise<void> => {
  const { config } = deps;
  await ensureDataset(deps, config.dataset, {});
  if (config.staging_dataset !== undefined && config.staging_dataset !== config.dataset) {
    const expiry = String(Math.max(3_600_000, config.staging_expiration_hours * 3_600_000));
    await ensureDataset(deps, config.staging_dataset, { defaultTableExpirationMs: expiry });
  }
  await Promise.all(relationsOf(config).map((relation) => ensureTable(deps, relation)));
  await ensureView(deps, queries, config.dataset, wordsOf(`${config.project}.${config.dataset}`));
};

const ensureDataset = async (deps: Connection, name: string, extra: Record<string, unknown>): Promise<void> => {
  const { config } = deps;
  const found = await tryGet<{ location?: string }>(deps, `/datasets/${name}`);
  if (found === undefined) {
    const json = {
      datasetReference: { projectId: config.project, datasetId: name },
      description: 'Call data, kept by callsync.',
      location: config.location,
      labels: config.labels,
      defaultEncryptionConfiguration: encryptionOf(config),
      ...extra,
    };
    return void (await change(deps, { method: 'POST', path: '/datasets', json }));
  }
  const { location = config.location } = found;
  if (location.toLowerCase() !== config.location.toLowerCase())
    throw terminal('BIGQUERY_LOCATION', `Dataset ${name} is in ${location}, not in ${config.location}.`, {
      hint: `Set \`location: ${location}\` for this warehouse, or use another dataset.`,
    });
};

interface TableResource {
  readonly type?: string;
  readonly description?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly expirationTime?: string;
  readonly schema?: { readonly fields?: readonly WireField[] };
  readonly timePartitioning?: { readonly expirationMs?: string };
}

const ensureTable = async (deps: Connection, relation: Relation): Promise<void> => {
  const { config } = deps;
  const path = `/datasets/${config.dataset}/tables`;
  const wanted = tableResource(config, relation);
  const find = () => tryGet<TableResource>(deps, `${path}/${relation.name}`);
  // A dataset may hand down to a new table when it, or its partitions, end.
  const found = (await find()) ?? (await change(deps, { method: 'POST', path, json: wanted }).then(find));
  if (found === undefined) return;
  refuseKind(relation.name, found, 'TABLE');
  const fields = extendFields(relation, found.schema?.fields ?? []);
  const patch = {
    ...(fields === undefined ? {} : { schema: { fields } }),
    ...(found.description === relation.description ? {} : { description: relation.description }),
    ...(sameLabels(found.labels, config.labels) ? {} : { labels: { ...found.labels, ...config.labels } }),
    ...changedEnds(wanted, found),
  };
  if (Object.keys(patch).length === 0) return;
  if (config.api_endpoint !== undefined) await alterEmulated(deps, relation, found.schema?.fields ?? []);
  await change(deps, { method: 'PATCH', path: `${path}/${relation.name}`, json: patch });
};

/** When the table and its partitions are to end, where it says otherwise; null = never. */
const changedEnds = ({ timePartitioning: own }: ReturnType<typeof tableResource>, found: TableResource) => ({
  ...(own?.expirationMs === found.timePartitioning?.expirationMs
    ? {}
    : { timePartitioning: { ...own, expirationMs: own?.expirationMs ?? null } }),
  ...(found.expirationTime === undefined ? {} : { expirationTime: null }),
});

/** A patch changes only the emulator's metadata, an ALTER only its storage, so it needs both. */
const alterEmulated = async (deps: Connection, relation: Relation, present: readonly WireField[]): Promise<void> => {
  const { project, dataset } = deps.config;
  for (const field of relation.fields.filter(({ name }) => present.every((one) => one.name !== name))) {
    const query = `ALTER TABLE \`${project}.${dataset}.${relation.name}\` ADD COLUMN IF NOT EXISTS ${field.name} ${typeSql(field)}`;
    await change(deps, { method: 'POST', path: '/queries', json: { query, useLegacySql: false } });
  }
};

export const tableResource = (config: BigqueryWarehouseConfig, relation: Relation) => {
  const { partition_expiration_days: expiry } = config;
  const { partitionedBy: field, clusteredBy: fields } = relation;
  return {
    tableReference: { projectId: config.project, datasetId: config.dataset, tableId: relation.name },
    description: relation.description,
    labels: config.labels,
    schema: { fields: relation.fields },
    timePartitioning:
      field === undefined ? undefined : { type: 'DAY', field, expirationMs: expiry && String(expiry * dayMs) },
    clustering: fields && { fields },
    encryptionConfiguration: encryptionOf(config),
  };
};

export const encryptionOf = ({ kms_key }: BigqueryWarehouseConfig) => kms_key && { kmsKeyName: kms_key };

const relaxed = <F extends { mode?: string }>(field: F) =>
  field.mode === 'REQUIRED' ? { ...field, mode: 'NULLABLE' } : field;

const typeOf = ({ type, mode = 'NULLABLE' }: Pick<WireField, 'type' | 'mode'>) => `${standardType(type)} ${mode}`;

/** The wanted fields, present ones first; undefined when nothing changes. @throws CallsyncError BIGQUERY_SCHEMA */
export const extendFields = (relation: Relation, present: readonly WireField[]) => {
  let changed = false;
  const byName = new Map(relation.fields.map((field) => [field.name, field]));
  const kept = present.map((field) => {
    // Nothing fills a required column that its owner added.
    const wanted = byName.get(field.name) ?? relaxed(field);
    byName.delete(field.name);
    const [found, due] = [typeOf(field), typeOf(wanted)];
    if (found !== due && found.replace('NULLABLE', 'REQUIRED') !== due)
      throw terminal('BIGQUERY_SCHEMA', `Column ${relation.name}.${field.name} is of type ${found}, not ${due}.`, {
        hint: 'Drop NOT NULL, use another dataset, or drop the table and run `callsync warehouse rebuild`.',
      });
    if (wanted.description === undefined || field.description === wanted.description) return field;
    changed = true;
    return { ...field, description: wanted.description };
  });
  // BigQuery cannot add a required column to a table.
  const added = [...byName.values()].map(relaxed);
  return changed || added.length > 0 ? [...kept, ...added] : undefined;
};

const refuseKind = (name: string, found: TableResource, wanted: 'TABLE' | 'VIEW'): void => {
  const { type = wanted } = found;
  if (type === wanted) return;
  throw terminal('BIGQUERY_SCHEMA', `${name} is a ${type.toLowerCase()}, not a ${wanted.toLowerCase()}.`, {
    hint: 'Set another dataset, then run callsync warehouse fill.',
  });
};

const sameLabels = (found: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>>): boolean =>
  Object.entries(wanted).every(([key, value]) => found[key] === value);

const tryGet = <T>({ rest, pause }: Connection, path: string): Promise<T | undefined> =>
  retry(pause, () => rest<T>({ path })).catch(unless('missing', 'read the dataset'));

/** A repeated creation finds the result of the first. */
const change = ({ rest, pause }: Connection, request: RestRequest): Promise<unknown> =>
  retry(pause, () => rest(request)).catch(unless('duplicate', 'change the dataset'));

/** See `Marts.ensure`. */
export const ensureViews = async (deps: Connection, queries: Queries, dataset: string, views: readonly View[]) => {
  await ensureDataset(deps, dataset, {});
  const changed: string[] = [];
  for (const view of views) if (await ensureView(deps, queries, dataset, view)) changed.push(view.name);
  return changed;
};

/** False where the view was there. */
const ensureView = async (deps: Connection, queries: Queries, dataset: string, view: View): Promise<boolean> => {
  const path = `/datasets/${dataset}/tables/${view.name}`;
  const description = describeView(view);
  const found = await tryGet<TableResource>(deps, path);
  if (found?.description === description && found.expirationTime === undefined) return false;
  refuseKind(view.name, found ?? {}, 'VIEW');
  await queries.run({ sql: viewQuery(`${deps.config.project}.${dataset}`, view) });
  const { labels } = deps.config;
  await change(deps, { method: 'PATCH', path, json: { description, labels, expirationTime: null } });
  return true;
};

/** One statement that creates or replaces a view, with descriptions of its columns. */
export const viewQuery = (dataset: string, view: View): string => {
  const columns = view.columns.map(({ name, description }) => `  ${name} OPTIONS (description=${quote(description)})`);
  return `CREATE OR REPLACE VIEW \`${dataset}.${view.name}\` (\n${columns.join(',\n')}\n)\nOPTIONS (description=${quote(describeView(view))}) AS\n${view.sql}`;
};
