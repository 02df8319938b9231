/** A mart: one query for both warehouses and for dbt, and the meaning of its columns. */
import { type TableName, tableOf } from '../../schemas/tables.ts';
import type { Dialect } from './dialect.ts';

export type MartType = 'text' | 'int' | 'float' | 'bool' | 'date' | 'timestamp' | 'json';

interface MartColumn {
  readonly name: string;
  readonly type: MartType;
  readonly description: string;
  /** The restricted role may read it, in a mart whose key is open. */
  readonly open?: true;
}

export interface Mart {
  readonly name: string;
  /** Made for other marts and not for analysts. */
  readonly intermediate?: true;
  /** Rows of a call depend on this call alone, so that dbt may build the rows of changed calls alone. */
  readonly perCall?: true;
  readonly grain: string;
  readonly description: string;
  /** Columns that together are unique; none may be null where `keyMayBeNull` is absent. */
  readonly key: readonly string[];
  readonly keyMayBeNull?: true;
  /** In the order of the query; the configured fields of calls_wide follow them. */
  readonly columns: readonly MartColumn[];
  readonly query: (d: Dialect) => string;
}

/**
 * Renders the last SELECT list of a mart: its columns, in their order, from the relation of `alias`. Other relations have those of
 * `others`, by alias and names; `expressions` compute the rest.
 */
type Select = (
  alias: string,
  expressions?: Readonly<Record<string, string>>,
  others?: Readonly<Record<string, string>>,
) => string;

/**
 * A mart from texts. `columns` has one a line: `name type description`. A `+` before the name opens the column. `table.name` stands
 * for a column as in that table.
 */
export const defineMart = ({
  columns: text,
  query,
  ...mart
}: Omit<Mart, 'columns' | 'query'> & { readonly columns: string; query(d: Dialect, select: Select): string }): Mart => {
  const columns = text.trim().split('\n').map(readColumn);
  const select: Select = (alias, expressions = {}, others = {}) => {
    const places = Object.entries(others).flatMap(([other, names]) => names.split(' ').map((name) => [name, other]));
    const aliases = Object.fromEntries(places) as Readonly<Record<string, string>>;
    return columns
      .map(({ name }) => {
        const computed = expressions[name];
        if (computed !== undefined) return `${computed} AS ${name}`;
        const from = aliases[name] ?? alias;
        return from === '' ? name : `${from}.${name}`;
      })
      .join(',\n  ');
  };
  return { ...mart, columns, query: (d) => query(d, select) };
};

const readColumn = (line: string): MartColumn => {
  const [, table, plain] = /^(\w+)\.(\w+)$/.exec(line) ?? [];
  if (plain !== undefined) return plainColumn(table as TableName, plain);
  const [, mark, name, type, description] = /^(\+?)(\S+) (\S+) (.+)$/.exec(line) as unknown as string[];
  return { name, type, description, ...(mark === '+' ? { open: true } : {}) } as MartColumn;
};

const plainColumn = (table: TableName, wanted: string): MartColumn => {
  const found = tableOf(table).columns.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no column ${wanted} in table ${table}`);
  const { name, type, description, open } = found;
  return { name, type: type as MartType, description, ...(open === true ? { open } : {}) };
};

/** Lines of columns, every column open. */
export const openAll = (text: string): string => text.trim().replaceAll(/^(?=\w+ )/gm, '+');
