/**
 * Brings the analysts' schema up to the definition: creates what is missing, never drops anything. A statement runs only
 * where the catalogue differs, in a transaction of its own and with a short lock time-out, because a statement that
 * waits for a lock makes every later load and query wait too.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { CallsyncError, transient } from '../../lib/errors.ts';
import { inTransaction } from '../../postgres/database.ts';
import { isLocked } from '../../postgres/errors.ts';
import { type Catalogue, type Change, type FoundRelation, listChanges, wordsQuery } from './ddl.ts';
import { type Layout, qualified, quote } from './layout.ts';

const lockTimeout = '500ms';
const pauseMs = 200;

/** Statements of one transaction. */
type Statements = (client: pg.PoolClient) => Promise<unknown>;

/**
 * A change of the schema, in a transaction that waits half a second for a lock, since whatever waits behind it waits too; tried again
 * for `forMs`. @throws CallsyncError DATABASE_LOCKED where somebody's open transaction holds up `what`
 */
export const changeSchema = async (
  { pool, purpose, layout }: { readonly pool: pg.Pool; readonly purpose: string; readonly layout: Layout },
  { what, forMs, hint }: { readonly what: string; readonly forMs: number; readonly hint: string },
  work: Statements,
): Promise<void> => {
  for (const deadline = Date.now() + forMs; ; await delay(pauseMs)) {
    try {
      return await inTransaction(pool, purpose, async (client) => {
        await client.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
        await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`callsync.warehouse.${layout.schema}`]);
        await work(client);
      });
    } catch (cause) {
      if (!isLocked(cause)) throw cause;
      if (Date.now() < deadline) continue;
      throw transient('DATABASE_LOCKED', `Somebody's open transaction holds up ${what} of the ${purpose}.`, {
        hint: `End that transaction (see pg_stat_activity)${hint}`,
        cause,
      });
    }
  }
};

const isHeldUp = (cause: unknown): boolean => cause instanceof CallsyncError && cause.code === 'DATABASE_LOCKED';

/**
 * Resolves when loads can run. Indexes, comments and a changed view that somebody's open transaction holds up wait for the next
 * start. @throws CallsyncError DATABASE_…; DATABASE_LOCKED when a table or column cannot be added
 */
export const migrate = async (pool: pg.Pool, purpose: string, layout: Layout): Promise<void> => {
  const pending = async (): Promise<Change[]> => {
    const found = await readCatalogue(pool, purpose, layout);
    return listChanges(layout).filter((change) => !change.isDone(found));
  };
  /** One change, or all of a new schema, which nobody can hold yet. */
  const apply = (changes: readonly Change[], what: string, forMs: number): Promise<void> =>
    changeSchema(
      { pool, purpose, layout },
      { what, forMs, hint: '; callsync tries again before the next load.' },
      async (client) => {
        for (const { sql } of changes) await client.query(sql);
      },
    );
  const changes = await pending();
  if (changes.some(({ name }) => name === 'table calls')) {
    // Of several that start at once one creates the schema, and the others find it when they look again.
    await apply(changes, 'the tables', 0).catch((cause: unknown) => {
      if (!isHeldUp(cause)) throw cause;
    });
  }
  for (const change of (await pending()).sort((a, b) => Number(b.urgent) - Number(a.urgent))) {
    await apply([change], change.name, change.urgent ? 3_000 : 0).catch((cause: unknown) => {
      if (change.urgent || !isHeldUp(cause)) throw cause;
    });
  }
};

/** Takes no lock that a load or query waits for. */
const readCatalogue = (pool: pg.Pool, purpose: string, layout: Layout): Promise<Catalogue> =>
  inTransaction(pool, purpose, async (client) => {
    const { rows } = await client.query<{ relation: string; column: string | null; comment: string | null }>(
      `SELECT c.relname AS relation, a.attname AS column, d.description AS comment
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         LEFT JOIN LATERAL (SELECT 0::smallint AS attnum, NULL::name AS attname
                      UNION ALL SELECT attnum, attname FROM pg_attribute
                                 WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a ON true
         LEFT JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = a.attnum
        WHERE n.nspname = $1`,
      [layout.schema],
    );
    const relations = new Map<string, FoundRelation & { columns: Map<string, string | null> }>();
    for (const { relation, column, comment } of rows.filter((row) => row.column === null)) {
      if (column === null) relations.set(relation, { comment, columns: new Map() });
    }
    for (const { relation, column, comment } of rows) {
      if (column !== null) relations.get(relation)?.columns.set(column, comment);
    }
    const schema = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [layout.schema]);
    const words = relations.has('words') && relations.has('utterances');
    return { schema: schema.rowCount === 1, relations, wordsCurrent: words && (await isWordsCurrent(client, layout)) };
  });

/** Compares the view with a temporary one of our query, both as PostgreSQL prints them. */
const isWordsCurrent = async (client: pg.PoolClient, layout: Layout): Promise<boolean> => {
  const wanted = quote('callsync_words');
  await client.query('SAVEPOINT before');
  await client.query(`CREATE TEMPORARY VIEW ${wanted} AS ${wordsQuery(layout)}`);
  const { rows } = await client.query<{ same: boolean }>(
    'SELECT pg_get_viewdef($1::regclass) = pg_get_viewdef($2::regclass) AS same',
    [`pg_temp.${wanted}`, qualified(layout, 'words')],
  );
  await client.query('ROLLBACK TO before');
  return rows[0]?.same === true;
};
