/**
 * Rights of readers in a PostgreSQL warehouse. The restricted role reads views in a schema of their own, and columns of
 * marts; both run with the rights of their owner. The restricted role may not enter the schema of the tables, so tables
 * that are added there stay hidden.
 */
import { openColumns } from '../../../schemas/tables.ts';
import { type Database, quoteName, runAll } from '../../postgres/database.ts';
import { type Grants, type Readers, restrictedName } from '../grants.ts';
import { type Layout, literal, qualified, quote } from './layout.ts';

export const createGrants = (db: Database, layout: Layout): Grants => ({
  statements: (readers) => grantsSql(layout, readers),
  apply: (readers) => db.transaction(runAll(grantsSql(layout, readers))),
});

const createRole = (role: string): string => {
  const create = `CREATE ROLE ${quoteName(role)} NOLOGIN`;
  return `DO $callsync$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)}) THEN EXECUTE ${literal(create)}; END IF;
END $callsync$`;
};

const revokeAll = (schema: string, role: string): readonly string[] => [
  `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${role}`,
  `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${schema} FROM ${role}`,
  `REVOKE ALL ON SCHEMA ${schema} FROM ${role}`,
];

/** A mart that is not there, or a column that an older definition lacks, is left out. */
const grantMart = (marts: string, mart: string, columns: readonly string[], role: string): string => {
  const relation = `${quote(marts)}.${quote(mart)}`;
  return `DO $callsync$ DECLARE columns text := (SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
   WHERE attrelid = to_regclass(${literal(relation)}) AND attname = ANY(${literal(`{${columns.join(',')}}`)}));
BEGIN
  IF columns IS NOT NULL THEN EXECUTE 'GRANT SELECT (' || columns || ') ON ' || ${literal(`${relation} TO ${quoteName(role)}`)}; END IF;
END $callsync$`;
};

/**
 * Only where it is not there as it was made: a new one waits for readers, and loses the rights that others gave. The comment holds a
 * digest, so that a changed view, or one of a renamed table, is made anew.
 */
const makeView = (view: string, sql: string): string => {
  const made = `(SELECT ${literal(`${sql} `)} || md5(concat(pg_get_viewdef(oid), reloptions, relowner)) FROM pg_class WHERE oid = to_regclass(${literal(view)}))`;
  return `DO $callsync$ BEGIN
  PERFORM set_config('search_path', '', true);
  IF coalesce(obj_description(to_regclass(${literal(view)}), 'pg_class') <> ${made}, true) THEN
    DROP VIEW IF EXISTS ${view};
    CREATE VIEW ${view} WITH (security_barrier) AS ${sql};
    EXECUTE format('COMMENT ON VIEW %s IS %L', ${literal(view)}, ${made});
  END IF;
END $callsync$`;
};

const grantsSql = (layout: Layout, readers: Readers): readonly string[] => {
  const schema = quote(layout.schema);
  const views: Layout = { ...layout, schema: restrictedName(layout.schema) };
  const viewSchema = quote(views.schema);
  const [analyst, restricted] = [quoteName(readers.analyst), quoteName(readers.restricted)];
  const marts = quote(readers.marts);
  return [
    createRole(readers.analyst),
    `GRANT USAGE ON SCHEMA ${schema} TO ${analyst}`,
    `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${analyst}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT ON TABLES TO ${analyst}`,
    // Marts are made anew when their definition changes: the right is given before they are there.
    `CREATE SCHEMA IF NOT EXISTS ${marts}`,
    `GRANT USAGE ON SCHEMA ${marts} TO ${analyst}`,
    `GRANT SELECT ON ALL TABLES IN SCHEMA ${marts} TO ${analyst}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${marts} GRANT SELECT ON TABLES TO ${analyst}`,
    createRole(readers.restricted),
    ...revokeAll(schema, `PUBLIC, ${restricted}`),
    ...revokeAll(marts, `PUBLIC, ${restricted}`),
    // The analysts' own rights. Rights for PUBLIC would reach the restricted role, too.
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${analyst}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} REVOKE ALL ON TABLES FROM ${restricted}`,
    `CREATE SCHEMA IF NOT EXISTS ${viewSchema}`,
    ...revokeAll(viewSchema, `PUBLIC, ${restricted}`),
    ...Object.entries(openColumns).flatMap(([name, columns]) => [
      makeView(qualified(views, name), `SELECT ${columns.map(quote).join(', ')} FROM ${qualified(layout, name)}`),
      `GRANT SELECT ON ${qualified(views, name)} TO ${restricted}, ${analyst}`,
    ]),
    `GRANT USAGE ON SCHEMA ${viewSchema} TO ${restricted}, ${analyst}`,
    `GRANT USAGE ON SCHEMA ${marts} TO ${restricted}`,
    ...Object.entries(readers.openMarts).map(([mart, columns]) =>
      grantMart(readers.marts, mart, columns, readers.restricted),
    ),
  ];
};
