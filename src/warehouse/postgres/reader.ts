/**
 * Queries of users run in a session of a role that may read tables and marts, and nothing else. SET ROLE in a session
 * of callsync's own role would not be enough, because functions that run text can change the role back.
 */
import pg from 'pg';
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { readJson, readNumber } from '../../lib/parse-json.ts';
import type { ConnectionUrl, Database, Queryable } from '../../postgres/database.ts';
import { connectTo, failureOf, openDatabase } from '../../postgres/database.ts';
import { isUnanswered, postgresError } from '../../postgres/errors.ts';
import { grantOwnRole, ownRoleUrl, underOwnRole } from '../../postgres/own-role.ts';
import type { AnswerLimits, Reader } from '../warehouse.ts';
import { quote } from './layout.ts';

interface ReaderOptions {
  /** Connection of the tables' owner, who creates the role and grants its rights. */
  readonly url: ConnectionUrl;
  /** URL of an existing role; the owner then changes nothing. */
  readonly readerUrl?: ConnectionUrl | undefined;
  readonly purpose: string;
  /** The tables', then the marts'. */
  readonly schemas: readonly string[];
  /** The role has the rights of this group, instead of all of `schemas`; `grant` creates them. */
  readonly group?: { readonly name: string; grant(): Promise<void>; readonly closed: string } | undefined;
  /** Longest time of a query, in milliseconds. */
  readonly queryMs?: number | undefined;
}

/** Comments and brackets before a statement. */
const blanks = /^(?:\s|\(|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/;
const reads = new RegExp(`${blanks.source}(?:select|with|values|table|explain|show)\\b`, 'i');
const givesRows = new RegExp(`${blanks.source}(?:select|with|values|table)\\b`, 'i');

/**
 * Runs queries that only read; nothing connects before the first.
 * @throws CallsyncError QUERY_REFUSED for other statements, QUERY_READER where there is no role for it, or DATABASE_…
 */
export const openReader = (options: ReaderOptions): Reader => {
  const ownUrl = ownRoleUrl(options.url, options.group === undefined ? 'reader' : 'assistant');
  const db = openDatabase({
    ...options,
    url: options.readerUrl ?? ownUrl,
    schema: options.schemas.join(','),
    application: 'callsync query',
    max: 16,
    statementMs: options.queryMs,
    onConnect: async (connection) => {
      // Policies may keep rows from readers.
      await connection.query`SET row_security = on`;
      const { isShut } = await checkRights(connection, options);
      if (isShut && options.readerUrl === undefined) await make();
    },
  });
  let made: { readonly at: number; readonly done: Promise<void> } | undefined;
  const make = (): Promise<void> => {
    const now = Date.now();
    if (made === undefined || now - made.at > remakeMs)
      made = { at: now, done: makeReader(options, ownUrl).catch(tellNoReader('DATABASE_PERMISSION')) };
    return made.done;
  };
  const attempt = <T>(work: () => Promise<T>): Promise<T> =>
    underOwnRole(work, options.readerUrl === undefined ? make : undefined).catch(tellNoReader('DATABASE_CREDENTIALS'));
  return {
    async ask(sql, signal) {
      if (!reads.test(sql))
        throw refused('Begin it with SELECT, WITH, VALUES, TABLE, EXPLAIN or SHOW, and send one at a time.');
      return await attempt(() => queryRows(db, sql, { signal, keep: false }));
    },
    async answer(sql, limits, signal) {
      const text = sql.replace(/[;\s]+$/, '');
      if (!givesRows.test(text)) throw refused('Begin it with SELECT, WITH, VALUES or TABLE, and send one at a time.');
      return await attempt(async () => {
        // A text that is no statement by itself could end the brackets around it, and with them the limits.
        const answered = await queryRows(db, limitedSql(text, limits), { signal, check: text, keep: false });
        const rows = answered.map(({ row }) => row as string | null);
        const kept = rows.slice(0, limits.rows).filter((row) => row !== null);
        return { rows: kept, complete: kept.length === rows.length };
      });
    },
    close: db.close,
  };
};

/** Grants replace views, so parallel queries share them, and a refused query does not repeat them. Milliseconds. */
const remakeMs = 10_000;

const refused = (hint: string) => terminal('QUERY_REFUSED', 'The statement is not a read-only query.', { hint });

/** Rows as JSON, one more than the limit; null for those beyond the limit of bytes, which the server does not send. */
const limitedSql = (sql: string, { rows, bytes }: AnswerLimits): string =>
  `SELECT CASE WHEN size <= ${bytes} THEN callsync_json END AS row FROM (
  SELECT callsync_json, sum(octet_length(callsync_json)) OVER (ROWS UNBOUNDED PRECEDING) AS size FROM (
    SELECT row_to_json(callsync_row)::text AS callsync_json FROM (
${sql}
) AS callsync_row LIMIT ${rows + 1}) AS first_rows) AS measured`;

const makeReader = async ({ url, purpose, schemas, group }: ReaderOptions, readerUrl: string): Promise<void> => {
  const owner = { url, purpose, schema: schemas.join(','), application: 'callsync warehouse' };
  await group?.grant();
  await grantOwnRole(owner, readerUrl, async (tx, role) => {
    if (group !== undefined) return void (await tx.query(`GRANT ${quote(group.name)} TO ${role}`));
    const found = await tx.column<string>`SELECT nspname FROM pg_namespace WHERE nspname = ANY(${schemas})`;
    for (const schema of found) {
      await tx.query(`GRANT USAGE ON SCHEMA ${quote(schema)} TO ${role}`);
      await tx.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${quote(schema)} TO ${role}`);
    }
  });
};

/**
 * Rights that no reader may have, by itself or through a role: SET ROLE needs a membership, inherited or not. A
 * reader may use only its own two schemas.
 */
const rightsSql = `SELECT concat_ws(', ',
    CASE WHEN bool_or(rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls) THEN 'be more than a user' END,
    CASE WHEN bool_or(rolname ~ '^pg_') THEN 'work on the server' END,
    CASE WHEN bool_or(EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
                               WHERE nspname = ANY($1) AND relkind IN ('r', 'p')
                                 AND has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')))
         THEN 'change rows' END,
    CASE WHEN bool_or(has_schema_privilege(r.oid, to_regnamespace($2)::oid, 'USAGE')) THEN 'read transcripts' END,
    CASE WHEN bool_or(EXISTS (SELECT FROM pg_class WHERE relname = 'token_keys' AND has_schema_privilege(r.oid, relnamespace, 'USAGE')))
         THEN 'read the store' END) AS "tooMuch",
    EXISTS (SELECT FROM pg_namespace WHERE nspname = ANY($1) AND NOT has_schema_privilege(oid, 'USAGE')) AS "isShut"
  FROM pg_roles r WHERE pg_has_role(session_user, r.oid, 'MEMBER')`;

/**
 * `isShut`: the role may not use one of the schemas, and all names in it are unknown. Such a schema is new, or another database of
 * the server made the role.
 */
const checkRights = async (connection: Queryable, { purpose, schemas, group }: ReaderOptions) => {
  const values = [schemas, group?.closed ?? null];
  const { tooMuch, isShut } = await connection.row<{ tooMuch: string; isShut: boolean }>(rightsSql, values);
  if (tooMuch === '') return { isShut };
  throw terminal('QUERY_READER', `The role for queries of the ${purpose} may ${tooMuch}.`, {
    hint: `Name a role with fewer rights. callsync grants --apply creates ${group?.name ?? 'callsync_analyst'}; make a role with LOGIN its member.`,
  });
};

/** For `.catch`. @param code of the error that means it */
const tellNoReader =
  (code: string) =>
  (cause: unknown): never => {
    if (!(cause instanceof CallsyncError) || cause.code !== code) throw cause;
    throw terminal('QUERY_READER', 'There is no read-only role for queries, and callsync may not create one.', {
      hint: 'Run callsync grants --apply and CREATE ROLE somebody LOGIN PASSWORD … IN ROLE callsync_analyst. Set reader_url_file of the warehouse to the URL of that role.',
      cause,
    });
  };

// Read-only queries of users and checks, and queries of any number of rows.

// Values of queries as the server writes them in a session of callsync; `answer` of a reader has the same in JSON.

type Read = (text: string) => unknown;

/** ISO 8601. Infinite instants, and those before Christ or after 9999, stay as PostgreSQL writes them. */
const readInstant: Read = (text) =>
  text.replace(
    /^(\d{4}-\d\d-\d\d) ([\d:]{8})(\.\d+)?(\+00)?$/,
    (_, day, time, fraction = '.', zone) => `${day}T${time}${fraction.padEnd(4, '0')}${zone === undefined ? '' : 'Z'}`,
  );

/** By the id of the type; all other values are texts. */
const readers: Readonly<Record<number, Read>> = {
  ...Object.fromEntries(([20, 21, 23, 26, 700, 701] as const).map((id) => [id, readNumber])),
  ...{ 16: (text) => text === 't', 114: readJson, 3802: readJson, 1114: readInstant, 1184: readInstant },
};

/** Id of a list and of its elements. Lists of other types are texts of the server. */
const elements = new Map(
  `1000:16 1005:21 1007:23 1016:20 1028:26 1021:700 1022:701 199:114 3807:3802 1115:1114 1185:1184 1009:25 1015:1043 1014:1042
1231:1700 1182:1082 1183:1083 1270:1266 1187:1186 1001:17 2951:2950 1041:869 651:650`
    .split(/\s/)
    .map((pair) => pair.split(':').map(Number) as [number, number]),
);

const arrays = pg.types.arrayParser as unknown as { create(text: string, read: Read): { parse(): unknown } };

const userTypes = {
  getTypeParser: (id: number): Read => {
    const read = readers[elements.get(id) ?? id] ?? String;
    return elements.has(id) ? (text) => arrays.create(text, read).parse() : read;
  },
};

const pageRows = 2_000;

const prepare = 'PREPARE callsync_check AS ';

/**
 * Rows of one statement in a transaction that only reads. When `signal` comes, the server ends the statement.
 * @param options.check a text that must be one statement by itself, in the same transaction.
 * @param options.keep false undoes side effects that a server allows in such a transaction: advisory locks, and large objects
 * before PostgreSQL 16
 * @throws CallsyncError DATABASE_…
 */
export const queryRows = (
  db: Database,
  sql: string,
  { signal, check, keep = true }: { readonly signal?: AbortSignal; readonly check?: string; readonly keep?: boolean },
): Promise<Record<string, unknown>[]> =>
  db.transaction(async ({ client }) => {
    await client.query('SET TRANSACTION READ ONLY');
    const release = signal === undefined ? undefined : await cancelAt(signal, db.pool, client);
    // The extended protocol takes one statement: a second one could end the transaction that only reads. As an object, a row
    // would keep one of two columns of the same name.
    const run = (text: string) => {
      const query = { text, queryMode: 'extended', rowMode: 'array', types: userTypes } as const;
      return client.query<unknown[]>(query as pg.QueryArrayConfig);
    };
    let isLost = false;
    try {
      if (check !== undefined) {
        // PostgreSQL parses the statement without planning it.
        await run(prepare + check).catch((error: { position?: string }) => {
          if (error.position !== undefined) error.position = String(Number(error.position) - prepare.length);
          throw error;
        });
        await run('DEALLOCATE callsync_check');
      }
      const { fields, rows } = await run(sql);
      const names = distinctNames(fields.map(({ name }) => name));
      return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
    } catch (error) {
      isLost = isUnanswered(error);
      throw error;
    } finally {
      release?.();
      // Advisory locks outlive a transaction, and callsync's own work waits for some.
      if (!keep && !isLost)
        await client.query('ROLLBACK; SELECT pg_advisory_unlock_all(); BEGIN').catch(() => undefined);
    }
  });

/** Names of result columns. A repeated name gets a number, so that a row can be an object. */
const distinctNames = (names: readonly string[]): string[] => {
  const taken = new Set(names);
  return names.map((name, index) => {
    let own = name;
    for (let number = 2; names.indexOf(name) < index && taken.has(own); number += 1) own = `${name}_${number}`;
    taken.add(own);
    return own;
  });
};

const ownTransaction = `SELECT pid, xact_start::text AS since FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
/** Checks more than the process id, because behind a pooler the process may serve another client by then. */
const cancelSql = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND xact_start = $2::timestamptz`;

/** A server looks for its client only when it answers: without a word from us, it would work on a query that nobody waits for. */
export const cancelAt = async (signal: AbortSignal, pool: pg.Pool, client: pg.PoolClient): Promise<() => void> => {
  const { rows } = await client.query<{ pid: number; since: string }>(ownTransaction);
  signal.throwIfAborted();
  // If the cancellation fails, the server's time limit ends the statement.
  const cancel = (): void => void pool.query(cancelSql, [rows[0]?.pid, rows[0]?.since]).catch(() => undefined);
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
};

/** Streams through a cursor, so that memory holds one page. */
export async function* streamRows(db: Database, sql: string, values: readonly unknown[] = []) {
  const client = await connectTo(db);
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL lock_timeout = '30s'");
    await client.query(`DECLARE page NO SCROLL CURSOR FOR ${sql}`, [...values]);
    for (;;) {
      const { rows } = await client.query(`FETCH ${pageRows} FROM page`);
      yield* rows;
      if (rows.length < pageRows) break;
    }
  } catch (cause) {
    throw postgresError(db.purpose, cause);
  } finally {
    client.release(await failureOf(client.query('ROLLBACK')));
  }
}
