/**
 * One PostgreSQL database with its purpose bound: every error says which database it concerns. Statements go in through
 * `query` and come back as rows; a transaction hands out the same `query` on one connection.
 */
import type pg from 'pg';
import { inTransaction, openPool, type PoolOptions, runQuery } from './connection.ts';

export interface Queryable {
  /** What the database is for, in errors: `operational store`, `warehouse main`. */
  readonly purpose: string;
  /** Rows of one statement; bigint columns are numbers. @throws CallsyncError DATABASE_…, without any value of the statement */
  query<R extends object = Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<R[]>;
}

export interface Transaction extends Queryable {
  /** The connection itself, for COPY. */
  readonly client: pg.PoolClient;
}

export interface Database extends Queryable {
  /** For what needs connections of its own: session locks, the receiver's writes. */
  readonly pool: pg.Pool;
  /** Commits when `work` resolves, rolls back when it throws. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Nothing connects before the first statement. @throws CallsyncError DATABASE_URL_INVALID */
export const openDatabase = (options: PoolOptions): Database => {
  const { purpose } = options;
  const pool = openPool(options);
  const queryOn =
    (db: pg.Pool | pg.PoolClient): Queryable['query'] =>
    (sql, values = []) =>
      runQuery(db, purpose, sql, [...values]);
  return {
    purpose,
    pool,
    query: queryOn(pool),
    transaction: (work) => inTransaction(pool, purpose, (client) => work({ purpose, client, query: queryOn(client) })),
    close: () => pool.end(),
  };
};
