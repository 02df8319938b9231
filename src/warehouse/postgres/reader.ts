/**
 * Queries of users run in a session of a role that may read tables and marts, and nothing else. SET ROLE in a session
 * of callsync's own role would not be enough, because functions that run text can change the role back.
 */
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { type ConnectionUrl, openDatabase, type Queryable } from '../../postgres/database.ts';
import { grantOwnRole, isRoleMissing, ownRoleUrl } from '../../postgres/own-role.ts';
import type { AnswerLimits, Reader } from '../warehouse.ts';
import { quote } from './layout.ts';
import { queryRows } from './query.ts';

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
    max: 4,
    statementMs: options.queryMs,
    onConnect: async (connection) => {
      const { isShut } = await checkRights(connection, options);
      if (isShut && options.readerUrl === undefined) await make();
    },
  });
  let made: { readonly at: number; readonly done: Promise<void> } | undefined;
  const make = (): Promise<void> => {
    const now = Date.now();
    if (made === undefined || now - made.at > remakeMs) made = { at: now, done: makeReader(options, ownUrl) };
    return made.done;
  };
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work().catch(async (error: unknown) => {
        if (options.readerUrl !== undefined || !isRoleMissing(error)) throw error;
        // The role, its password or a right is missing: new tables, for instance, or a password of the owner that changed.
        await make();
        return await work();
      });
    } catch (error) {
      if (error instanceof CallsyncError && error.code === 'DATABASE_CREDENTIALS') throw noReader(error);
      throw error;
    }
  };
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

const makeReader = async (options: ReaderOptions, readerUrl: string): Promise<void> => {
  const { url, purpose, schemas, group } = options;
  const owner = { url, purpose, schema: schemas.join(','), application: 'callsync warehouse' };
  try {
    await group?.grant();
    await grantOwnRole(owner, readerUrl, async (tx, role) => {
      if (group !== undefined) return void (await tx.query(`GRANT ${quote(group.name)} TO ${role}`));
      const found = await tx.column<string>`SELECT nspname FROM pg_namespace WHERE nspname = ANY(${schemas})`;
      for (const schema of found) {
        await tx.query(`GRANT USAGE ON SCHEMA ${quote(schema)} TO ${role}`);
        await tx.query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${quote(schema)} TO ${role}`);
      }
    });
  } catch (error) {
    throw error instanceof CallsyncError && error.code === 'DATABASE_PERMISSION' ? noReader(error) : error;
  }
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

const noReader = (cause: CallsyncError): CallsyncError =>
  terminal('QUERY_READER', 'There is no read-only role for queries, and callsync may not create one.', {
    hint: 'Run callsync grants --apply and CREATE ROLE somebody LOGIN PASSWORD … IN ROLE callsync_analyst. Set reader_url_file of the warehouse to the URL of that role.',
    cause,
  });
