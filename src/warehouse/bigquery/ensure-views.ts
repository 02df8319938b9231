/** Views in a dataset of their own: created, and replaced only where their definition has changed. */
import type { View } from '../warehouse.ts';
import { quote } from './ddl.ts';
import { change, ensureDataset, type MigrateDeps, tryGet } from './migrate.ts';
import type { Queries } from './queries.ts';

/** The version is the end of the view's description, which any reader of the dataset's metadata can see. */
const descriptionOf = ({ description, version }: View): string => `${description} [callsync ${version}]`;

/** See `Warehouse.ensureViews`. */
export const ensureViews = async (
  deps: MigrateDeps,
  queries: Queries,
  dataset: string,
  views: readonly View[],
): Promise<readonly string[]> => {
  await ensureDataset(deps, dataset, {});
  const changed: string[] = [];
  for (const view of views) {
    const path = `/datasets/${dataset}/tables/${view.name}`;
    const description = descriptionOf(view);
    const found = await tryGet<{ readonly description?: string }>(deps, path);
    if (found?.description === description) continue;
    await queries.run({ sql: viewQuery(`${deps.config.project}.${dataset}`, view) });
    await change(deps, { method: 'PATCH', path, json: { description, labels: deps.config.labels } });
    changed.push(view.name);
  }
  return changed;
};

/** One statement that creates or replaces a view, with what its columns mean. */
export const viewQuery = (dataset: string, view: View): string => {
  const columns = view.columns.map(({ name, description }) => `  ${name} OPTIONS (description=${quote(description)})`);
  return `CREATE OR REPLACE VIEW \`${dataset}.${view.name}\` (\n${columns.join(',\n')}\n)\nOPTIONS (description=${quote(descriptionOf(view))}) AS\n${view.sql}`;
};
