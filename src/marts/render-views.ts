/** The marts as views of one warehouse, with the settings of its installation written into them. */
import { createHash } from 'node:crypto';
import type { Place } from '../warehouse/kind.ts';
import type { View } from '../warehouse/warehouse.ts';
import { createDialect, type MartSettings } from './dialect.ts';
import { marts } from './marts.ts';

/** Columns of the configured keys, at the end of two marts: in `field_texts` as sent, in `calls_wide` as `field_columns`. */
const fieldColumns: Readonly<Record<string, (field: MartSettings['fields'][number]) => View['columns']>> = {
  field_texts: ({ name, key }) => [{ name, description: `metadata.${key}, as sent.` }],
  calls_wide: ({ name, key, type }) => [
    { name, description: `metadata.${key}, read as ${type}.` },
    ...(type === 'text'
      ? []
      : [
          { name: `${name}_as_sent`, description: `metadata.${key}, as sent.` },
          { name: `${name}_unparsable`, description: `true if metadata.${key} has content that is no ${type}.` },
        ]),
  ],
};

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
    const ofField = fieldColumns[name];
    const columns = [
      ...mart.columns.map((column) => ({ name: column.name, description: column.description })),
      ...(ofField === undefined ? [] : settings.fields.flatMap(ofField)),
    ];
    const sql = mart.query(dialect);
    const version = createHash('sha256')
      .update(JSON.stringify([description, columns, sql]))
      .digest('hex')
      .slice(0, 16);
    return { name, description, columns, sql, version };
  });
};
