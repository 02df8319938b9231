import type { Queryable } from '../../src/postgres/database.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

type Asked = Pick<Queryable, 'query'> | Pick<Warehouse, 'query'>;

/** The first column of the rows that a statement returns. @param values of a statement in a store */
export const column = async <T = unknown>(db: Asked, sql: string, values?: readonly unknown[]): Promise<T[]> =>
  (await (db as Queryable).query(sql, values)).map((row) => Object.values(row)[0] as T);
