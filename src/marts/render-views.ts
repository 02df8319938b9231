/** The marts as views of one warehouse, with the settings of its installation written into them. */
import { createHash } from 'node:crypto';
import type { Place } from '../warehouse/kind.ts';
import type { View } from '../warehouse/warehouse.ts';
import { createDialect, type MartSettings } from './dialect.ts';
import { marts } from './marts.ts';

/** Marts whose query ends with the configured keys. */
const withFields = new Set(['field_texts', 'calls_wide']);

/** In the order in which they can be created. */
export const renderViews = (place: Place, settings: MartSettings): readonly View[] => {
  const { fragments, relation } = place;
  const dialect = createDialect(fragments, settings, {
    table: (name) => relation(place.tables, name),
    mart: (name) => relation(place.marts, name),
  });
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
