/** The models that dbt has built, each against what callsync itself has of the same meaning. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { modelNameOf, sources, stagedColumns } from '../../scripts/dbt-package.ts';
import { marts } from '../../src/marts/render-views.ts';
import { makeBatch, makeCall, makeTombstone } from '../warehouse/batches.ts';
import type { Dbt } from './dbt.ts';
import { type FilledWarehouse, sortRows } from './two-warehouses.ts';

export interface ManifestNode {
  readonly name: string;
  readonly resource_type: string;
  readonly compiled_code?: string;
  readonly relation_name?: string;
  readonly depends_on: { readonly nodes: readonly string[] };
  readonly config: { readonly materialized: string; readonly contract?: { readonly enforced: boolean } };
  readonly columns: Readonly<Record<string, { readonly name: string; readonly data_type?: string | null }>>;
}

/** @param folder the one that `openDbt` was given; dbt has run in it. By the unique id of each node. */
export const readManifest = async (folder: string): Promise<Readonly<Record<string, ManifestNode>>> => {
  const text = await readFile(join(folder, 'target/manifest.json'), 'utf8');
  return (JSON.parse(text) as { readonly nodes: Readonly<Record<string, ManifestNode>> }).nodes;
};

/**
 * Every model has the rows of the view or table of the same meaning. Every view and table has a model, also without an
 * entry in a list.
 * @param views names of all marts that the warehouse has
 */
export const compareModels = async (folder: string, warehouse: FilledWarehouse, views: readonly string[]) => {
  const [compared, staged]: [string[], string[]] = [[], []];
  for (const { name, relation_name, resource_type } of Object.values(await readManifest(folder))) {
    if (resource_type !== 'model') continue;
    const rows = sortRows(await warehouse.ask(`SELECT * FROM ${relation_name}`));
    const mart = marts.find((one) => modelNameOf(one) === name);
    const source = sources.find((one) => `stg_callsync__${one.name}` === name);
    if (mart !== undefined) {
      expect(rows.length, name).toBeGreaterThan(0);
      expect(rows, name).toEqual(await warehouse.readMart(mart.name));
      compared.push(mart.name);
    } else if (source !== undefined) {
      const columns = stagedColumns(source).map((column) => column.name);
      const wanted = await warehouse.ask(`SELECT ${columns.join(', ')} FROM {tables}.${source.name}`);
      expect(rows, name).toEqual(sortRows(wanted));
      staged.push(source.name);
    } else {
      expect(name, 'a model that nothing is compared with').toBe('callsync__time_spine');
      const days = (await warehouse.readMart('proven_days')).map(({ business_day }) => ({ date_day: business_day }));
      expect(rows, name).toEqual(sortRows(days));
    }
  }
  expect(compared.sort()).toEqual([...views].sort());
  // Its model is off until a project turns it on.
  expect([...staged, 'documents'].sort()).toEqual(sources.map(({ name }) => name).sort());
};

const aggregates: Readonly<Record<string, string>> = {
  sum: 'SUM(',
  average: 'AVG(',
  count_distinct: 'COUNT(DISTINCT ',
};

/** Each metric of the semantic models over all rows of its model, once by each of its dimensions too. @returns figures by metric */
export const askMetrics = async (folder: string, warehouse: FilledWarehouse): Promise<Record<string, number>> => {
  const text = await readFile(join(folder, 'target/semantic_manifest.json'), 'utf8');
  const { metrics, semantic_models } = JSON.parse(text);
  const figures: Record<string, number> = {};
  for (const { name, type_params } of metrics)
    for (const { node_relation, dimensions, measures } of semantic_models)
      for (const { name: measure, agg, expr } of measures) {
        if (measure !== type_params.measure.name) continue;
        const figure = `${aggregates[agg]}${expr ?? measure}) AS figure FROM ${node_relation.relation_name}`;
        for (const dimension of dimensions) {
          const by = `SELECT ${dimension.expr ?? dimension.name}, ${figure} GROUP BY 1`;
          expect(await warehouse.ask(by), name).not.toEqual([]);
        }
        figures[name] = Number((await warehouse.ask(`SELECT ${figure}`))[0]?.figure);
      }
  return figures;
};

/** Incremental models after calls changed, came and were erased: as a full refresh makes them, with other rows left alone. */
/** @param execute one statement that writes */
export const compareIncremental = async (
  { run }: Dbt,
  folder: string,
  { warehouse, ask }: FilledWarehouse,
  execute: (sql: string) => Promise<unknown>,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> => {
  const names = marts.flatMap((mart) => (mart.perCall === true ? [modelNameOf(mart)] : []));
  const vars = { ...settings, callsync_incremental: true };
  const build = (...more: string[]) => run(['run', ...more, '--select', ...names.map((name) => `+${name}`)], vars);
  await build();
  const nodes = new Map(Object.values(await readManifest(folder)).map((node) => [node.name, node]));
  for (const name of names) expect(nodes.get(name)?.config.materialized, name).toBe('incremental');
  const relationOf = (name: string) => nodes.get(name)?.relation_name;
  const readOne = async (name: string) => [name, sortRows(await ask(`SELECT * FROM ${relationOf(name)}`))] as const;
  const read = () => Promise.all(names.map(readOne));
  const spoken = `SELECT call_id, call_timestamp FROM {tables}.calls
    WHERE call_timestamp IS NOT NULL AND tag_count > 1 AND utterance_count > 2 ORDER BY call_id LIMIT 3`;
  const [changed, erased, kept] = (await ask(spoken)).map(({ call_id, call_timestamp }) => ({
    callId: call_id as string,
    partitions: [(call_timestamp as string).slice(0, 10)],
  }));
  if (changed === undefined || erased === undefined || kept === undefined) throw new Error('too few calls');
  const calls = [makeCall({ ...changed, revision: 2 }), makeCall({ callId: 'new' })];
  await warehouse.load(makeBatch({ calls, tombstones: [makeTombstone(erased.callId, 2, erased.partitions)] }));
  for (const name of names)
    await execute(`UPDATE ${relationOf(name)} SET business_day = NULL WHERE call_id = '${kept.callId}'`);
  await build();
  const found = await read();
  await build('--full-refresh');
  const whole = await read();
  for (const [at, [name, rows]] of found.entries()) {
    const ofCall = (callId: string) => rows.filter(({ call_id }) => call_id === callId);
    expect(ofCall(erased.callId), name).toEqual([]);
    for (const id of [changed.callId, 'new', kept.callId]) expect(ofCall(id), `${name}: ${id}`).not.toEqual([]);
    for (const { business_day } of ofCall(kept.callId)) expect(business_day, name).toBe(null);
    const others = (some: typeof rows) => some.filter(({ call_id }) => call_id !== kept.callId);
    expect(others(rows), name).toEqual(others(whole[at]?.[1] ?? []));
  }
};
