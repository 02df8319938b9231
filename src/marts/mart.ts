/** What a mart is: one query, written once for both warehouses and for dbt, and the meaning of its columns. */
import type { Dialect } from './dialect.ts';

export type MartType = 'text' | 'int' | 'float' | 'bool' | 'date' | 'timestamp' | 'json';

export interface MartColumn {
  readonly name: string;
  readonly type: MartType;
  readonly description: string;
}

export interface Mart {
  readonly name: string;
  /** Made for other marts and not for analysts. */
  readonly intermediate?: true;
  readonly grain: string;
  readonly description: string;
  /** Columns that together are unique; none may be null where `keyMayBeNull` is absent. */
  readonly key: readonly string[];
  readonly keyMayBeNull?: true;
  /** In the order of the query; the configured fields of calls_wide follow them. */
  readonly columns: readonly MartColumn[];
  readonly query: (d: Dialect) => string;
}

/** `name type description`, one a line; the description may hold anything. */
export const columnsOf = (text: string): readonly MartColumn[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [, name, type, description] = /^\s*(\S+) (\S+) (.+)$/.exec(line) as unknown as string[];
      return { name, type, description } as MartColumn;
    });
