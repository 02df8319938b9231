/** Views in a schema of their own: created, and replaced only where their definition has changed. */
import { CallsyncError } from '../../lib/errors.ts';
import { type Database, runAll } from '../../postgres/database.ts';
import { describeView, type View } from '../warehouse.ts';
import { createView } from './ddl.ts';
import { quote } from './layout.ts';
import { changeSchema, readRelations } from './migrate.ts';

/** @returns the names of the views that were created or replaced. @throws CallsyncError DATABASE_… */
export const ensureViews = async (db: Database, schema: string, views: readonly View[]): Promise<readonly string[]> => {
  const found = await readRelations(db, { schema });
  const changed = views.filter((view) => found.get(view.name)?.comment !== describeView(view));
  if (changed.length === 0) return [];
  const marts = { what: 'the marts', forMs: 0, hint: '; callsync tries again at the next start.' };
  const apply = (statements: readonly string[]) => changeSchema({ db, layout: { schema } }, marts, runAll(statements));
  try {
    await apply(viewStatements(schema, changed));
  } catch (error) {
    if (!changesColumns(error)) throw error;
    const drop = views.map(({ name }) => `DROP VIEW IF EXISTS ${quote(schema)}.${quote(name)}`).reverse();
    const grants = await db.query<Grant>(grantsSql, [schema]);
    await apply([...drop, ...viewStatements(schema, views), ...restoreGrants(grants, views)]);
  }
  return changed.map(({ name }) => name);
};

/** `column` = null when the right is on the whole view. */
type Grant = { readonly view: string; readonly column: string | null; readonly sql: string };

/** Rights of others on the views of a schema ($1), as the statements that grant them. */
const grantsSql = `SELECT g.view, g.column, format('GRANT %s%s ON %I.%I TO %s', g.privilege, ' (' || quote_ident(g.column) || ')', $1::text, g.view,
            CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END) AS sql
       FROM (SELECT c.relname AS view, NULL::name AS column, c.relowner, a.grantee, a.privilege_type AS privilege
               FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
              WHERE c.relkind = 'v' AND c.relnamespace = quote_ident($1)::regnamespace
             UNION ALL
             SELECT c.relname, t.attname, c.relowner, a.grantee, a.privilege_type
               FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid CROSS JOIN LATERAL aclexplode(t.attacl) a
              WHERE c.relkind = 'v' AND c.relnamespace = quote_ident($1)::regnamespace) g
      WHERE g.grantee <> g.relowner`;

/** Rights on views and columns that still exist afterwards. */
const restoreGrants = (grants: readonly Grant[], views: readonly View[]): readonly string[] => {
  const columns = new Map(views.map((view) => [view.name, view.columns.map(({ name }) => name)]));
  return grants
    .filter(({ view, column }) => columns.has(view) && (column === null || columns.get(view)?.includes(column)))
    .map(({ sql }) => sql);
};

const viewStatements = (schema: string, views: readonly View[]): readonly string[] => [
  `CREATE SCHEMA IF NOT EXISTS ${quote(schema)}`,
  ...views.flatMap((view) => createView(schema, view)),
];

/** SQLSTATE invalid_table_definition: columns cannot be taken away or change their order or type in place. */
const changesColumns = (error: unknown): boolean =>
  error instanceof CallsyncError && (error.cause as { readonly code?: unknown } | undefined)?.code === '42P16';
