/**
 * The queries of persons. They run in a session of a role that may read tables and marts, and nothing else. A session of callsync's
 * own role that merely takes on the other one would not do: functions that run text can change the role back.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { scramVerifier } from '../../lib/scram.ts';
import { type ConnectionUrl, openDatabase, openPool, readUrl, runQuery } from '../../postgres/database.ts';
import { quote } from './layout.ts';
import { queryRows } from './query.ts';

export interface ReaderOptions {
  /** Of the owner of the tables, who makes the role and gives it its rights. */
  readonly url: ConnectionUrl;
  /** Of a role that somebody else made; then the owner does nothing. */
  readonly readerUrl?: ConnectionUrl | undefined;
  readonly purpose: string;
  /** The tables', then the marts'. */
  readonly schemas: readonly string[];
  /** Longest time of a query, in milliseconds. */
  readonly queryMs?: number | undefined;
}

/** What begins a statement that only reads, behind comments and brackets. */
const reads = /^(?:\s|\(|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*(?:select|with|values|table|explain|show)\b/i;

/**
 * Rows of one query that only reads.
 * @throws CallsyncError QUERY_REFUSED for other statements, QUERY_READER where there is no role for it, or DATABASE_…
 */
export const askAsReader = async (
  options: ReaderOptions,
  sql: string,
  signal?: AbortSignal,
): Promise<Record<string, unknown>[]> => {
  if (!reads.test(sql)) {
    throw terminal('QUERY_REFUSED', 'This is not a query that only reads.', {
      hint: 'Begin it with SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW, and send one at a time.',
    });
  }
  const url = options.readerUrl ?? ownReaderUrl(options.url);
  const pool = openPool({
    ...options,
    url,
    schema: options.schemas.join(','),
    application: 'callsync query',
    max: 2,
    statementMs: options.queryMs,
  });
  const ask = async (): Promise<Record<string, unknown>[]> => {
    await refuseMoreRights(pool, options);
    return await queryRows(pool, options.purpose, sql, { signal, keep: false });
  };
  try {
    return await ask().catch(async (error: unknown) => {
      if (options.readerUrl !== undefined || !isRefused(error)) throw error;
      // The role, its password or a right is missing: new tables, for instance, or a password of the owner that changed.
      await makeReader(options, url);
      return await ask();
    });
  } catch (error) {
    if (error instanceof CallsyncError && error.code === 'DATABASE_CREDENTIALS') throw noReader(error);
    throw error;
  } finally {
    await pool.end();
  }
};

const isRefused = (error: unknown): boolean =>
  error instanceof CallsyncError && ['DATABASE_CREDENTIALS', 'DATABASE_PERMISSION'].includes(error.code);

/** The same for all processes of an owner that has a password; whoever knows it cannot work out the owner's. */
const ownReaderUrl = (owner: ConnectionUrl): string => {
  const url = readUrl(owner);
  const name = `${decodeURIComponent(url.username)}_callsync_reader`;
  const password = url.password === '' ? randomBytes(32).toString('hex') : keyed(url.password, name);
  [url.username, url.password] = [encodeURIComponent(name), password];
  return url.href;
};

const keyed = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex');

const makeReader = async ({ url, purpose, schemas }: ReaderOptions, readerUrl: ConnectionUrl): Promise<void> => {
  const database = openDatabase({ url, purpose, schema: schemas.join(','), application: 'callsync warehouse', max: 1 });
  const { username, password } = readUrl(readerUrl);
  const name = decodeURIComponent(username);
  const role = quote(name.replaceAll('"', '""'));
  try {
    await database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtext($1))', [name]);
      const [present] = await tx.query('SELECT FROM pg_roles WHERE rolname = $1', [name]);
      const verb = present === undefined ? 'CREATE' : 'ALTER';
      await tx.query(`${verb} ROLE ${role} LOGIN PASSWORD '${scramVerifier(password)}'`);
      const found = await tx.query<{ name: string }>(
        'SELECT nspname AS name FROM pg_namespace WHERE nspname = ANY($1)',
        [schemas],
      );
      for (const schema of found.map((one) => quote(one.name))) {
        await tx.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
        await tx.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
      }
    });
  } catch (error) {
    throw error instanceof CallsyncError && error.code === 'DATABASE_PERMISSION' ? noReader(error) : error;
  } finally {
    await database.close();
  }
};

/** What no reader may be or do. Of the schemas, only its own two are open to it. */
const rightsSql = `SELECT concat_ws(', ',
    CASE WHEN rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls THEN 'be more than a user' END,
    CASE WHEN EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid AND roleid::regrole::text ~ '^pg_') THEN 'work on the server' END,
    CASE WHEN EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
                       WHERE nspname = ANY($1) AND relkind IN ('r', 'p') AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
         THEN 'change rows' END,
    CASE WHEN to_regnamespace('callsync') IS NOT NULL AND has_schema_privilege('callsync', 'USAGE') THEN 'read the store' END) AS too_much
  FROM pg_roles r WHERE rolname = session_user`;

const refuseMoreRights = async (pool: pg.Pool, { purpose, schemas }: ReaderOptions): Promise<void> => {
  const [found] = await runQuery<{ too_much: string }>(pool, purpose, rightsSql, [[...schemas]]);
  if (found === undefined || found.too_much === '') return;
  throw terminal('QUERY_READER', `The role for queries of the ${purpose} may ${found.too_much}.`, {
    hint: 'Name a role that only reads: callsync grants --apply makes callsync_analyst, which a role with LOGIN can be a member of.',
  });
};

const noReader = (cause: CallsyncError): CallsyncError =>
  terminal('QUERY_READER', 'There is no role under which a query can only read, and callsync may not make one.', {
    hint: 'Make one and give its URL as reader_url_file of the warehouse: callsync grants --apply; CREATE ROLE somebody LOGIN PASSWORD … IN ROLE callsync_analyst.',
    cause,
  });
