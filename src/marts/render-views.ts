/** The marts as views of one warehouse, with the settings of its installation written into them. */
import type { Place } from '../warehouse/kind.ts';
import type { View } from '../warehouse/warehouse.ts';
import { callMarts } from './definitions/call-marts.ts';
import { dailyMarts } from './definitions/daily-marts.ts';
import { provenDays } from './definitions/proven-days.ts';
import { talkMarts } from './definitions/talk-marts.ts';
import { createDialect, type Mart, type MartSettings } from './mart.ts';

type Field = MartSettings['fields'][number];
type FieldColumn = Pick<Field, 'name' | 'type'> & { readonly description: string };

/** Columns of a configured key in `calls_wide`, as `field_columns` selects them. */
export const wideColumns = ({ name, key, type }: Field): readonly FieldColumn[] => {
  const column = { name, type, description: `metadata.${key}, read as ${type}.` };
  if (type === 'text') return [column];
  const unparsable = `true if metadata.${key} has content that is no ${type}.`;
  return [
    column,
    { name: `${name}_as_sent`, type: 'text', description: `metadata.${key}, as sent.` },
    { name: `${name}_unparsable`, type: 'boolean', description: unparsable },
  ];
};

/** The configured keys are at the end of two marts, in `field_texts` as sent. */
const fieldColumns: Readonly<Record<string, (field: Field) => readonly Omit<FieldColumn, 'type'>[]>> = {
  field_texts: ({ name, key }) => [{ name, description: `metadata.${key}, as sent.` }],
  calls_wide: wideColumns,
};

/** In the order in which they can be created. */
export const renderViews = (place: Place, settings: MartSettings): readonly View[] => {
  const dialect = createDialect(place, settings, {
    table: (name) => place.relation(place.tables, name),
    mart: (name) => place.relation(place.marts, name),
  });
  return marts.map((mart) => {
    const description = `${mart.description} Grain: ${mart.grain}.`;
    const columns = [...mart.columns, ...settings.fields.flatMap(fieldColumns[mart.name] ?? (() => []))];
    return { name: mart.name, description, columns, sql: mart.query(dialect) };
  });
};

// Every mart, each after the marts that it reads.

export const marts: readonly Mart[] = [provenDays, ...callMarts, ...talkMarts, ...dailyMarts];

/** Open columns of each mart for the restricted role. The role reads no other mart, even if a mart has the same columns. */
export const openMartColumns: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  marts.flatMap(({ name, key, columns }) => {
    const open = columns.filter((column) => column.open === true).map((column) => column.name);
    return key.every((column) => open.includes(column)) ? [[name, open]] : [];
  }),
);
