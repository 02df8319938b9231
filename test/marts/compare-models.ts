/** The models that dbt has built, each against what callsync itself has of the same meaning. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { modelNameOf, sources, stagedColumns } from '../../scripts/dbt-package.ts';
import { marts } from '../../src/marts/marts.ts';
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
      expect(rows, name).toEqual(
        sortRows(await warehouse.ask(`SELECT ${columns.join(', ')} FROM {tables}.${source.name}`)),
      );
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
