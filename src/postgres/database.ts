/**
 * One PostgreSQL database: pool, statements and transactions. Errors name the database and the next step. A transaction
 * hands out the same `query` on one connection.
 */
import pg from 'pg';
import { terminal } from '../lib/errors.ts';
import { isDriverError, isUnanswered, postgresError } from './errors.ts';
import { sql } from './sql.ts';

/** A connection URL, or where it can be read: then each new connection takes it as it is at that moment. */
export type ConnectionUrl = string | (() => string);

interface PoolOptions {
  readonly url: ConnectionUrl;
  /** Schema that unqualified names resolve to. */
  readonly schema: string;
  /** Shown in pg_stat_activity. */
  readonly application: string;
  readonly max?: number;
  /** Purpose of the database, for errors: `store`, `warehouse main`. */
  readonly purpose: string;
  /** Longest time of one statement, in milliseconds; the connection is given up when the server does not end it. */
  readonly statementMs?: number | undefined;
  /** Runs on each new connection. If it throws, the connection closes and the caller gets the error. */
  readonly onConnect?: ((connection: Queryable) => Promise<void>) | undefined;
}

export interface Queryable {
  /** Purpose of the database, for errors: `store`, `warehouse main`. */
  readonly purpose: string;
  /**
   * Rows of one statement; bigint columns are numbers. Written as a template, with its values in place: db.query`SELECT … ${value}`.
   * @throws CallsyncError DATABASE_…, without any value of the statement
   */
  query<R extends object = Record<string, unknown>>(...asked: Asked): Promise<R[]>;
  /** The one row of a statement; undefined without a row, which the caller's type tells. */
  row<R extends object | undefined>(...asked: Asked): Promise<R>;
  /** The values of a statement's one column. */
  column<T>(...asked: Asked): Promise<T[]>;
  /** The one value of a statement; undefined without a row, which the caller's type tells. */
  value<T>(...asked: Asked): Promise<T>;
  /** Whether a statement finds a row. */
  has(...asked: Asked): Promise<boolean>;
}

/** A template with its values, or a text with one list of values, in which `$1` stands for the first. */
type Asked = readonly [text: string | TemplateStringsArray, ...values: readonly unknown[]];

export interface Transaction extends Queryable {
  /** The connection itself, for COPY. */
  readonly client: pg.PoolClient;
}

export interface Database extends Queryable {
  /** Schema that unqualified names resolve to. */
  readonly schema: string;
  /** For work with connections of its own, such as session locks and writes of the receiver. */
  readonly pool: pg.Pool;
  /** Commits when `work` resolves, rolls back when it throws. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const defaultStatementMs = 120_000;
/** Between the server's own end of a statement and ours, which needs no answer. */
const graceMs = 10_000;
const keepAliveMs = 10_000;

/** Nothing connects before the first statement. @throws CallsyncError DATABASE_URL_INVALID */
export const openDatabase = (options: PoolOptions): Database => {
  const { purpose, schema } = options;
  const pool = openPool(options);
  return {
    ...queryableOn(pool, purpose),
    schema,
    pool,
    transaction: (work) => inTransaction(pool, purpose, (client) => work({ ...queryableOn(client, purpose), client })),
    close: () => pool.end(),
  };
};

const queryableOn = (db: pg.Pool | pg.PoolClient, purpose: string): Queryable => ({
  purpose,
  async query<R extends object>(text: string | TemplateStringsArray, ...given: readonly unknown[]) {
    const asked = typeof text === 'string' ? { text, values: (given[0] ?? []) as unknown[] } : sql(text, ...given);
    try {
      return (await db.query<R & pg.QueryResultRow>(asked.text, [...asked.values])).rows;
    } catch (cause) {
      throw postgresError(purpose, cause);
    }
  },
  async row(...asked) {
    return (await this.query(...asked))[0] as never;
  },
  async column<T>(...asked: Asked) {
    return (await this.query<Record<string, T>>(...asked)).map((row) => Object.values(row)[0] as T);
  },
  async value<T>(...asked: Asked) {
    return (await this.column<T>(...asked))[0] as T;
  },
  async has(...asked) {
    return (await this.query(...asked)).length > 0;
  },
});

/** The URL as it is at this moment. */
export const readUrl = (url: ConnectionUrl): URL => new URL(typeof url === 'string' ? url : url());

/** All numbers of callsync's tables are safe integers. Query results of users can be larger, and must not be rounded. */
const readBigint = (text: string): number | string => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
};

/** A day stays text, since no time zone may move it. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = { 20: readBigint, 1082: String };

/** Opens a pool; nothing is connected until the first query. bigint columns read as numbers (text beyond 2^53), days as `YYYY-MM-DD`. */
export const openPool = (options: PoolOptions): pg.Pool => {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      parsers[oid] ?? (pg.types.getTypeParser as (oid: number, format?: string) => unknown)(oid, format),
  };
  const statementMs = options.statementMs ?? defaultStatementMs;
  let pool: pg.Pool;
  try {
    pool = new pg.Pool({
      ...(typeof options.url === 'string' ? { connectionString: options.url } : { Client: clientOf(options.url) }),
      max: options.max ?? 8,
      application_name: options.application,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      query_timeout: statementMs + Math.min(graceMs, statementMs),
      types: types as never,
      onConnect: prepareSession(options, statementMs) as never,
    });
  } catch (cause) {
    throw terminal('DATABASE_URL_INVALID', `The connection URL of the ${options.purpose} cannot be read.`, {
      hint: 'Write it as postgres://user:password@host:port/database.',
      cause,
    });
  }
  // A client that loses its server, idle or lent out, must not end the process; the next query reports it.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
};

/** Sets the session by a statement, because poolers refuse or ignore parameters of the start. */
const settingsSql = `SELECT pg_backend_pid() AS pid, set_config('search_path', $1, false), set_config('TimeZone', 'UTC', false),
  set_config('statement_timeout', $2, false), set_config('idle_in_transaction_session_timeout', $3, false)`;

const prepareSession = (options: PoolOptions, statementMs: number) => {
  let isOwn = false;
  return async (client: pg.PoolClient & { readonly processID?: number }): Promise<void> => {
    const values = [options.schema, String(statementMs), String(statementMs + graceMs)];
    const { rows } = await client.query<{ pid: number }>(settingsSql, values);
    const pid = rows[0]?.pid ?? 0;
    // A pooler has ids of its own for connections.
    if (!isOwn && pid !== client.processID) await refuseSharedSession(options, client, pid);
    isOwn = true;
    await options.onConnect?.(queryableOn(client, options.purpose));
  };
};

/** If the pooler makes a second connection wait, each connection has a session of its own. */
const otherSessionMs = 2_000;

/**
 * Detects a pooler in transaction mode. Another connection begins a transaction between two statements of this one,
 * and the server process changes. Session locks and settings would then belong to a stranger.
 */
const refuseSharedSession = async (options: PoolOptions, client: pg.PoolClient, pid: number): Promise<void> => {
  const pidSql = 'SELECT pg_backend_pid() AS pid';
  const limits = { connectionTimeoutMillis: otherSessionMs, query_timeout: otherSessionMs };
  const named = { connectionString: readUrl(options.url).href, application_name: options.application };
  const other = new pg.Client({ ...named, ...limits });
  other.on('error', () => undefined);
  try {
    await other.connect();
    await other.query('BEGIN');
    const held = await other.query<{ pid: number }>(pidSql);
    const again = await client.query<{ pid: number }>(pidSql);
    if (again.rows[0]?.pid === pid && held.rows[0]?.pid !== pid) return;
  } catch (error) {
    if (!isDriverError(error)) throw error;
    return;
  } finally {
    await other.end().catch(() => undefined);
  }
  throw terminal('DATABASE_POOLING', `The ${options.purpose} is behind a connection pooler in transaction mode.`, {
    hint: 'Set pool_mode = session for this database in PgBouncer, or name PostgreSQL itself in the connection URL.',
  });
};

/** A connection of the pool; the caller releases it. @throws CallsyncError DATABASE_… */
export const connectTo = async ({ pool, purpose }: Pick<Database, 'pool' | 'purpose'>): Promise<pg.PoolClient> => {
  try {
    return await pool.connect();
  } catch (cause) {
    throw postgresError(purpose, cause);
  }
};

const inTransaction = async <T>(pool: pg.Pool, purpose: string, work: (client: pg.PoolClient) => Promise<T>) => {
  const client = await connectTo({ pool, purpose });
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (cause) {
    if (isUnanswered(cause)) broken = cause;
    else {
      await client.query('ROLLBACK').catch((error: Error) => {
        broken = error;
      });
    }
    throw isDriverError(cause) ? postgresError(purpose, cause) : cause;
  } finally {
    client.release(broken);
  }
};

/** Reads the URL anew for each connection: a changed password refuses new connections, not open ones. */
const clientOf = (url: () => string) =>
  class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: url() });
    }
  };

/** A name as SQL writes it, with any characters. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Arrays of the columns of rows, as `unnest` takes them. */
export const columnsOf = <Row>(rows: readonly Row[], ...names: readonly (keyof Row)[]): Row[keyof Row][][] =>
  names.map((name) => rows.map((row) => row[name]));
