/**
 * One PostgreSQL database: pool, statements and transactions. Errors name the database and the next step. A transaction
 * hands out the same `query` on one connection.
 */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { terminal } from '../lib/errors.ts';
import { readNumber } from '../lib/parse-json.ts';
import { isConflict, isDriverError, isLocked, isStale, isUnanswered, postgresError } from './errors.ts';
import { fixedSettings, sessionSql } from './session.ts';

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
  /** Longest wait for a connection, and then for each answer, in milliseconds; otherwise 10 s, and somewhat more than `statementMs`. */
  readonly answerMs?: number;
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

export type Database = ReturnType<typeof openDatabase>;

const defaultStatementMs = 120_000;
/** Between the server's own end of a statement and ours, which needs no answer. */
const graceMs = 10_000;
const keepAliveMs = 10_000;

/** Nothing connects before the first statement. */
export const openDatabase = (options: PoolOptions) => {
  const { purpose, schema } = options;
  const pool = openPool(options);
  return {
    ...queryableOn(pool, purpose),
    /** Schema that unqualified names resolve to. */
    schema,
    /** For work with connections of its own, such as session locks and writes of the receiver. */
    pool,
    /** Commits when `work` resolves, rolls back when it throws. @param finds all its statements find rows by their keys: see `begins`. */
    transaction: <T>(work: (tx: Transaction) => Promise<T>, finds: Finds = 'anyhow') =>
      inTransaction(pool, purpose, (client) => work({ ...queryableOn(client, purpose), client }), begins[finds]),
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

/** A day stays text, since no time zone may move it. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = { 20: readNumber, 1082: String };

/** Opens a pool; nothing is connected until the first query. bigint columns read as numbers (text beyond 2^53), days as `YYYY-MM-DD`. */
export const openPool = (options: PoolOptions): pg.Pool => {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      parsers[oid] ?? (pg.types.getTypeParser as (oid: number, format?: string) => unknown)(oid, format),
  };
  const statementMs = options.statementMs ?? defaultStatementMs;
  const pool = new pg.Pool({
    Client: clientOf(options.url),
    max: options.max ?? 8,
    application_name: options.application,
    connectionTimeoutMillis: options.answerMs ?? 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    query_timeout: options.answerMs ?? statementMs + Math.min(graceMs, statementMs),
    types: types as never,
    onConnect: prepareSession(options, statementMs) as never,
  });
  // A client that loses its server, idle or lent out, must not end the process; the next query reports it.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
};

const prepareSession = (options: PoolOptions, statementMs: number) => {
  let isOwn = false;
  return async (client: pg.PoolClient & { readonly processID?: number }): Promise<void> => {
    const limits = { statement_timeout: statementMs, idle_in_transaction_session_timeout: statementMs + graceMs };
    // A plan of named statements would stay from when the tables were empty.
    const plans = { plan_cache_mode: 'force_custom_plan' };
    const settings = { ...fixedSettings, ...limits, ...plans, search_path: options.schema };
    const { rows } = await client.query<{ pid: number; encoding: string }>(sessionSql, [settings]);
    const [{ pid, encoding }] = rows as [(typeof rows)[number]];
    if (encoding !== 'UTF8')
      throw terminal('DATABASE_ENCODING', `The database of the ${options.purpose} has the encoding ${encoding}.`);
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
  throw terminal('DATABASE_POOLING', `The ${options.purpose} is behind a connection pooler in transaction mode.`);
};

/** A connection of the pool; the caller releases it. @throws CallsyncError DATABASE_… */
export const connectTo = async ({ pool, purpose }: Pick<Database, 'pool' | 'purpose'>): Promise<pg.PoolClient> => {
  try {
    return await pool.connect();
  } catch (cause) {
    throw postgresError(purpose, cause);
  }
};

/** Undefined where the work succeeds. */
export const failureOf = (work: Promise<unknown>): Promise<Error | undefined> =>
  work.then(
    () => undefined,
    (error: Error) => error,
  );

/**
 * Without statistics of a young table, a hundred keys look like half of it, and all of it would be read. A plan that takes indexes
 * stays right: a connection makes it once. Somebody may hold a lock for long: its wait ends soon enough that readers are told.
 */
const begins = {
  anyhow: 'BEGIN',
  byKeys:
    "BEGIN; SET LOCAL lock_timeout = '30s'; SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan",
};

export type Finds = keyof typeof begins;

type Work<T> = (client: pg.PoolClient) => Promise<T>;

const inTransaction = async <T>(pool: pg.Pool, purpose: string, work: Work<T>, begin: string) => {
  const client = await connectTo({ pool, purpose });
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (cause) {
    broken = isUnanswered(cause) || isStale(cause) ? cause : await failureOf(client.query('ROLLBACK'));
    throw isDriverError(cause) ? postgresError(purpose, cause) : cause;
  } finally {
    client.release(broken);
  }
};

/** Readers of URLs would take the rest of a password for a host, and an error would name it. */
const splitsPassword = /#|^\w+:\/\/[^/?@]*(\/[^?]*|\?[^=]*)@/;

/** Statements with values, by their texts. A connection reads each of them once: that took a tenth of the server's time. */
const named = new Map<string, string>();
/** More than callsync has; texts of users that come with values stay without a name. */
const mostNamed = 500;

const nameOf = (text: string): string | undefined => {
  if (!named.has(text) && named.size < mostNamed) named.set(text, `callsync_${named.size}`);
  return named.get(text);
};

/** Reads the URL anew for each connection: a changed password refuses new connections, not open ones. */
const clientOf = (url: ConnectionUrl) =>
  class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      const text = typeof url === 'string' ? url : url();
      if (splitsPassword.test(text)) throw Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' });
      // As the driver does; it would print a warning about these words.
      const connectionString = text.replace(
        /([?&]sslmode=)(prefer|require|verify-ca)(?!.*uselibpqcompat)/,
        '$1verify-full',
      );
      super({ ...config, connectionString });
    }

    override query(...[asked, values, ...rest]: unknown[]): never {
      const name = typeof asked === 'string' && Array.isArray(values) && values.length > 0 ? nameOf(asked) : undefined;
      const given = name === undefined ? asked : { name, text: asked };
      return (super.query as (...args: unknown[]) => never)(given, values, ...rest);
    }
  };

/** A name as SQL writes it, with any characters. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Runs statements one after the other in a transaction. A text may hold several. */
export const runAll =
  (statements: readonly string[]) =>
  async ({ client }: Transaction): Promise<void> => {
    for (const sql of statements) await client.query(sql);
  };

/** SQL with its values in place. Times cross into TypeScript as whole microseconds since the Unix epoch. */

/** Part of a statement. Where it has no values, it is written into a text as it is. */
export class Sql {
  /** One more than values, which stand between them. */
  readonly texts: readonly string[];
  readonly values: readonly unknown[];

  constructor(texts: readonly string[], values: readonly unknown[] = []) {
    [this.texts, this.values] = [texts, values];
  }

  /** With `$1`, `$2` … in the places of the values. */
  get text(): string {
    return this.texts.reduce((text, next, at) => `${text}$${at}${next}`);
  }

  toString(): string {
    if (this.values.length > 0) throw new Error('Values of a statement have no place in a text.');
    return this.text;
  }
}

/** A text that is part of a statement: a name, an operator. Never of a user. */
export const raw = (text: string): Sql => new Sql([text]);

/** Values become parameters; parts of statements are written in their place. */
export const sql = (texts: readonly string[], ...given: readonly unknown[]): Sql => {
  const [first = '', ...rest] = texts;
  const parts = [first];
  const values: unknown[] = [];
  const append = (text: string): void => {
    parts.push(`${parts.pop()}${text}`);
  };
  for (const [at, one] of given.entries()) {
    const [start, ...others] = one instanceof Sql ? one.texts : ['', ''];
    append(start as string);
    parts.push(...others);
    values.push(...(one instanceof Sql ? one.values : [one]));
    append(rest[at] as string);
  }
  return new Sql(parts, values);
};

/** timestamptz expression → bigint microseconds; null for a time that no record has, as somebody may have written it. */
export const toMicros = (at: string): Sql =>
  raw(`CASE WHEN ${at} BETWEEN '0001-01-01' AND '9999-12-31' THEN (extract(epoch FROM ${at}) * 1000000)::bigint END`);

/** Microseconds, as a value or an expression (a number column) → timestamptz. */
export const toTimestamp = (micros: number | null | string): Sql =>
  sql`to_timestamp(${typeof micros === 'string' ? raw(micros) : micros}::float8 / 1000000.0)`;

/** At least one part, with commas between. */
export const list = (parts: readonly Sql[]): Sql => sql(['', ...parts.slice(1).map(() => ', '), ''], ...parts);

/** Rows as a table `u` of a statement. @param types of its columns, by the names that the rows have; other fields are left out */
export const unnest = <Row extends object>(rows: readonly Row[], types: { readonly [Name in keyof Row]?: string }) => {
  const names = Object.keys(types) as (keyof Row & string)[];
  const ends = names.map(
    (name, at) => `::${types[name]}[]${at < names.length - 1 ? ', ' : `) AS u("${names.join('", "')}")`}`,
  );
  const columns = names.map((name) => rows.map((row) => row[name]));
  return new Sql(['unnest(', ...ends], columns);
};

/** Columns of one type, for `unnest`. */
export const columnTypes = <Name extends string>(type: string, ...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, type])) as Record<Name, string>;

// One holder at a time for a name, over all processes: until the end of a transaction, or of work on its own connection.

type Pooled = Pick<Database, 'pool' | 'purpose'>;

const retryMs = 200;

/** A connection that holds the lock, or undefined while another holds it. Waiting processes keep no connection. */
const tryHold = async (database: Pooled, name: string): Promise<pg.PoolClient | undefined> => {
  const client = await connectTo(database);
  try {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock(hashtext($1)) AS held', [name]);
    if (rows[0]?.held === true) return client;
    client.release();
    return undefined;
  } catch (cause) {
    client.release(true);
    throw postgresError(database.purpose, cause);
  }
};

/**
 * Polls for the lock: a waiting statement would delay every wait for running statements, such as an index build.
 * The lock ends with its connection. Then `signal` aborts, and another holder may start.
 * @param onWait called once if another process holds it.
 * @throws CallsyncError DATABASE_…, or the errors of `work`
 */
export const withSessionLock = async <T>(
  database: Pooled,
  name: string,
  work: (signal: AbortSignal) => Promise<T>,
  onWait: () => void = () => undefined,
): Promise<T> => {
  let client = await tryHold(database, name);
  if (client === undefined) onWait();
  while (client === undefined) {
    await delay(retryMs);
    client = await tryHold(database, name);
  }
  const held = client;
  const controller = new AbortController();
  const lost = (): void => controller.abort();
  held.on('error', lost);
  held.on('end', lost);
  try {
    return await work(controller.signal);
  } finally {
    held.removeListener('error', lost);
    held.removeListener('end', lost);
    held.release(await failureOf(held.query('SELECT pg_advisory_unlock(hashtext($1))', [name])));
  }
};

/** Until the end of the transaction. */
export const lockName = (tx: Queryable, name: string) => tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [name]);

/** Does short work under the lock, in a new transaction, or in the given transaction until its end. */
export const withLock = async <T>(db: Database | Transaction, name: string, work: () => Promise<T>): Promise<T> => {
  if ('transaction' in db) return await db.transaction((tx) => withLock(tx, name, work));
  await lockName(db, name);
  return await work();
};

// Transactions that PostgreSQL ends for the sake of others: they run again.

const mostAttempts = 5;

/**
 * As `db.transaction`; repeats a few times after a deadlock, a conflict with another transaction, or the end of a short `lock_timeout`.
 * The one of `byKeys` is long.
 * @param work may run several times, so its effects outside the transaction must be repeatable
 */
export const repeatTransaction = async <T>(db: Database, work: (tx: Transaction) => Promise<T>, finds?: Finds) => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction(work, finds);
    } catch (error) {
      if (attempt === mostAttempts || !(isConflict(error) || (isLocked(error) && finds === undefined))) throw error;
    }
  }
};
