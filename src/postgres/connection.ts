/** Connection pools with errors that say what to do. */
import pg from 'pg';
import { CallsyncError, terminal, transient } from '../errors.ts';

/** A connection URL, or where it can be read: then each new connection takes it as it is at that moment. */
export type ConnectionUrl = string | (() => string);

export interface PoolOptions {
  readonly url: ConnectionUrl;
  /** Schema that unqualified names resolve to. */
  readonly schema: string;
  /** Shown in pg_stat_activity. */
  readonly application: string;
  readonly max?: number;
  /** What the database is for, in errors: `operational store`, `warehouse main`. */
  readonly purpose: string;
  /** Longest time of one statement, in milliseconds; the connection is given up when the server does not end it. */
  readonly statementMs?: number | undefined;
}

const defaultStatementMs = 120_000;
/** Between the server's own end of a statement and ours, which needs no answer. */
const graceMs = 10_000;
const keepAliveMs = 10_000;

/** Opens a pool; nothing is connected until the first query. bigint columns read as numbers (all ours are safe). */
export const openPool = (options: PoolOptions): pg.Pool => {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === 20 ? Number : (pg.types.getTypeParser as (oid: number, format?: string) => unknown)(oid, format),
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
      statement_timeout: statementMs,
      query_timeout: statementMs + Math.min(graceMs, statementMs),
      idle_in_transaction_session_timeout: statementMs + graceMs,
      options: `-c search_path=${options.schema} -c timezone=UTC`,
      types: types as never,
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

/** Reads the URL anew for each connection: a changed password refuses new connections, not open ones. */
const clientOf = (url: () => string) =>
  class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: url() });
    }
  };

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'EPIPE',
  'ENOENT',
  'EAI_AGAIN',
]);
/** Classes of SQLSTATE after which the same statement may succeed: connection, serialization, shutdown, resources. */
const transientStates = /^(08|40|53|55P03|57P0[1-5]|25006|58)/;

/** Tables, schema, functions or unique indexes that are missing: what a restore has dropped, or not yet brought back. */
const incompleteStates: ReadonlySet<string> = new Set(['42P01', '3F000', '42883', '42P10']);

const lostConnection = /timeout|connection terminated|connection ended|not queryable/i;

/** False for what did not come from the driver: a fault of ours must not read as one of the database. */
const isDriverError = (cause: unknown): boolean => {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return /^[0-9A-Z]{5}$/.test(code) || connectionCodes.has(code);
  return typeof message === 'string' && lostConnection.test(message);
};

/** Maps a driver error to terminal or transient. Values of the failed statement are never repeated: they may be personal. */
export const postgresError = (purpose: string, cause: unknown): CallsyncError => {
  if (cause instanceof CallsyncError) return cause;
  const { code = '', message = '' } = cause as { code?: string; message?: string };
  if (connectionCodes.has(code) || lostConnection.test(message)) {
    return transient('DATABASE_UNREACHABLE', `The ${purpose} does not answer (${code || 'connection lost'}).`, {
      hint: 'Check that PostgreSQL runs and that its address in the configuration is right.',
      cause,
    });
  }
  if (code === '28P01' || code === '28000') {
    return terminal('DATABASE_CREDENTIALS', `The ${purpose} refuses the user or password.`, {
      hint: 'Check the user and password in its connection URL.',
      cause,
    });
  }
  if (code === '3D000') {
    return terminal('DATABASE_MISSING', `The database of the ${purpose} does not exist.`, {
      hint: 'Create it, or correct its name in the connection URL.',
      cause,
    });
  }
  if (code === '42501') {
    return terminal('DATABASE_PERMISSION', `The user of the ${purpose} lacks a permission.`, {
      hint: 'Grant CREATE on the database, or USAGE and CREATE on its schema.',
      cause,
    });
  }
  if (incompleteStates.has(code)) {
    return transient('DATABASE_INCOMPLETE', `Tables of the ${purpose} are missing (SQLSTATE ${code}).`, {
      hint: 'They were dropped, or are being restored from a backup: docs/operations.md says what to do.',
      cause,
    });
  }
  const kind = transientStates.test(code) ? transient : terminal;
  return kind('DATABASE_ERROR', `The ${purpose} reports an error (SQLSTATE ${code || 'none'}).`, { cause });
};

/** Runs `work` in one transaction; rolls back when it throws, and maps the error when it is the driver's. */
export const inTransaction = async <T>(
  pool: pg.Pool,
  purpose: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> => {
  let client: pg.PoolClient;
  try {
    client = await pool.connect();
  } catch (cause) {
    throw postgresError(purpose, cause);
  }
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

/** The statement may still be on its way: nothing else can be sent behind it. */
const isUnanswered = (error: unknown): error is Error =>
  error instanceof Error &&
  /^query read timeout$/i.test(
    error instanceof CallsyncError ? String((error.cause as Error | undefined)?.message) : error.message,
  );

/** One statement outside a transaction, with errors mapped. */
export const runQuery = async <R extends object>(
  db: pg.Pool | pg.PoolClient,
  purpose: string,
  sql: string,
  values: unknown[] = [],
): Promise<R[]> => {
  try {
    return (await db.query<R & pg.QueryResultRow>(sql, values)).rows;
  } catch (cause) {
    throw postgresError(purpose, cause);
  }
};
