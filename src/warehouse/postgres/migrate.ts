/**
 * Brings the analysts' schema up to the definition: creates missing parts, never drops any. A statement runs only if
 * the catalogue differs. Each statement has its own transaction and a short lock time-out, because a waiting statement
 * blocks all later loads and queries.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { tables, tombstonesTable } from '../../../schemas/tables.ts';
import { CallsyncError, transient } from '../../lib/errors.ts';
import { type Database, lockName, type Queryable, runAll, type Transaction } from '../../postgres/database.ts';
import { isLocked } from '../../postgres/errors.ts';
import { type FoundRelations, listChanges } from './ddl.ts';
import type { Layout } from './layout.ts';

type Change = ReturnType<typeof listChanges>[number];

const lockTimeout = '500ms';
const pauseMs = 200;

/** Target of a new index or table, and its shared part. */
export type Schema = { readonly db: Database; readonly layout: Layout };

/**
 * Changes the schema in a transaction that waits half a second for a lock, because later queries wait behind it.
 * Repeats for `forMs`.
 * @throws CallsyncError DATABASE_LOCKED if an open transaction blocks `what`
 */
export const changeSchema = async <T>(
  { db, layout }: { readonly db: Database; readonly layout: Pick<Layout, 'schema'> },
  { what, forMs, hint }: { readonly what: string; readonly forMs: number; readonly hint: string },
  work: (tx: Transaction) => Promise<T>,
): Promise<T> => {
  for (const deadline = Date.now() + forMs; ; await delay(pauseMs)) {
    try {
      return await db.transaction(async (tx) => {
        await tx.query(`SET LOCAL lock_timeout = '${lockTimeout}'`);
        await lockName(tx, `callsync.warehouse.${layout.schema}`);
        return await work(tx);
      });
    } catch (cause) {
      if (!isLocked(cause)) throw cause;
      if (Date.now() < deadline) continue;
      throw transient('DATABASE_LOCKED', `Somebody's open transaction holds up ${what} of the ${db.purpose}.`, {
        hint: `End that transaction (see pg_stat_activity)${hint}`,
        cause,
      });
    }
  }
};

/**
 * Resolves when loads can run. Indexes, comments and a changed view that somebody's open transaction holds up wait for the next
 * start. @throws CallsyncError DATABASE_…; DATABASE_LOCKED when a table or column cannot be added
 */
export const migrate = async (schema: Schema): Promise<void> => {
  const pending = async (db: Queryable = schema.db): Promise<Change[]> => {
    const found = await readRelations(db, schema.layout);
    return listChanges(schema.layout).filter((change) => !change.isDone(found));
  };
  /**
   * One change, or a whole new schema, which nobody can have locked. Asks again under the lock: another process may have made it, and
   * PostgreSQL itself would not notice a new schema then.
   */
  const apply = (isMeant: (change: Change) => boolean, what: string, mustBe: { readonly forMs: number } | undefined) =>
    changeSchema(
      schema,
      { what, forMs: mustBe?.forMs ?? 0, hint: '; callsync tries again before the next load.' },
      async (tx) => runAll((await pending(tx)).filter(isMeant).map(({ sql }) => sql))(tx),
    ).catch((cause: unknown) => {
      if (mustBe !== undefined || !(cause instanceof CallsyncError && cause.code === 'DATABASE_LOCKED')) throw cause;
    });
  const changes = await pending();
  if (changes.some(({ name }) => name === 'table calls')) await apply(() => true, 'the tables', undefined);
  for (const { name, isUrgent } of (await pending()).sort((a, b) => Number(b.isUrgent) - Number(a.isUrgent)))
    await apply((change) => change.name === name, name, isUrgent ? { forMs: 3_000 } : undefined);
};

const ownTables = [...tables, tombstonesTable].map(({ name }) => name);

/**
 * Takes no lock that a load or query waits for. A view has no comment while it reads a table of another name: that table was
 * renamed, and the view went with it.
 */
export const readRelations = async (db: Queryable, layout: Pick<Layout, 'schema'>): Promise<FoundRelations> => {
  const rows = await db.query<{ relation: string; comment: string | null; columns: Record<string, string | null> }>`
      SELECT coalesce(c.relname, '') AS relation,
            CASE WHEN NOT EXISTS (
                   SELECT FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                     JOIN pg_class t ON d.refclassid = 'pg_class'::regclass AND t.oid = d.refobjid
                    WHERE w.ev_class = c.oid AND t.relkind = 'r' AND t.relname <> ALL (${ownTables}))
                 THEN obj_description(c.oid, 'pg_class') END AS comment,
            coalesce(json_object_agg(a.attname, col_description(c.oid, a.attnum)) FILTER (WHERE a.attname IS NOT NULL), '{}') AS columns
       FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid
       LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE n.nspname = ${layout.schema} GROUP BY c.oid, c.relname`;
  return new Map(rows.map(({ relation, ...found }) => [relation, found]));
};
