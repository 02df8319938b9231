/** The marts as views of one warehouse, with the settings of its installation written into them. */
import { createHash } from 'node:crypto';
import { bigqueryFragments, createDialect, type Dialect, postgresFragments } from './dialect.ts';
import { marts } from './marts.ts';
import type { MartSettings } from './settings.ts';

export interface MartView {
  readonly name: string;
  readonly description: string;
  readonly columns: readonly { readonly name: string; readonly description: string }[];
  readonly sql: string;
  /** Changes whenever anything above does. */
  readonly version: string;
}

/** Where tables are and views go: schemas of Postgres, or datasets of BigQuery with their project. */
export type MartPlace =
  | { readonly kind: 'postgres'; readonly tables: string; readonly marts: string }
  | { readonly kind: 'bigquery'; readonly project: string; readonly tables: string; readonly marts: string };

/** Marts whose query ends with the configured keys. */
const withFields = new Set(['field_texts', 'calls_wide']);

/** In the order in which they can be created. */
export const renderViews = (place: MartPlace, settings: MartSettings): readonly MartView[] => {
  const dialect = dialectOf(place, settings);
  return marts.map((mart) => {
    const { name } = mart;
    const description = `${mart.description} Grain: ${mart.grain}.`;
    const fields = withFields.has(name) ? settings.fields : [];
    const columns = [
      ...mart.columns.map((column) => ({ name: column.name, description: column.description })),
      ...fields.map((field) => ({ name: field.name, description: `metadata.${field.key}, read as ${field.type}.` })),
    ];
    const sql = mart.query(dialect);
    const version = createHash('sha256')
      .update(JSON.stringify([description, columns, sql]))
      .digest('hex')
      .slice(0, 16);
    return { name, description, columns, sql, version };
  });
};

const dialectOf = (place: MartPlace, settings: MartSettings): Dialect => {
  if (place.kind === 'postgres') {
    const relation = (schema: string) => (name: string) => `"${schema}"."${name}"`;
    return createDialect(postgresFragments, settings, { table: relation(place.tables), mart: relation(place.marts) });
  }
  const relation = (dataset: string) => (name: string) => `\`${place.project}.${dataset}.${name}\``;
  return createDialect(bigqueryFragments, settings, { table: relation(place.tables), mart: relation(place.marts) });
};
