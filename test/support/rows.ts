import { type Queryable, sql } from '../../src/postgres/database.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

type Asked = Pick<Queryable, 'query'> | Pick<Warehouse, 'query'>;

/** The first column of the rows that a statement returns. @param values of a statement in a store */
export const column = async <T = unknown>(db: Asked, sql: string, values?: readonly unknown[]): Promise<T[]> =>
  (await (db as Queryable).query(sql, values)).map((row) => Object.values(row)[0] as T);

/** All that an iteration gives. */
export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

/** The `query` of a database whose statements `run` gets, each as a text and its values. */
export const queryBy = (run: (text: string, values: readonly unknown[]) => Promise<object[]>): Queryable['query'] =>
  ((text, ...given) => {
    const asked = typeof text === 'string' ? { text, values: (given[0] ?? []) as unknown[] } : sql(text, ...given);
    return run(asked.text, asked.values);
  }) as Queryable['query'];
