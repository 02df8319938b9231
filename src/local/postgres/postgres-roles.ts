/** The roles of the embedded server: callsync works as one that is no superuser, so that none of its SQL runs programs or reads files. */
import { createHmac, randomBytes } from 'node:crypto';
import pg from 'pg';
import { scramVerifier } from '../../lib/scram.ts';
import { administrator } from './postgres-cluster.ts';

/** Owns the database of the same name. */
export const owner = 'callsync';

/** Whoever knows it cannot work out the administrator's. */
export const ownerPassword = (adminPassword: string): string =>
  createHmac('sha256', adminPassword).update(owner).digest('hex');

interface ClusterUrls {
  readonly url: string;
  readonly adminUrl: string;
  /** Of clusters that were made with `callsync` as their superuser. */
  readonly formerUrl: string;
}

/** 28P01 invalid_password, 3D000 invalid_catalog_name: the role or its database is not there yet. */
const missing = new Set(['28P01', '3D000']);

/** Makes the role and its database where they are missing. */
export const ensureOwner = async (urls: ClusterUrls): Promise<void> => {
  if (await answers(urls.url)) return;
  const adminServer = new URL('/postgres', urls.adminUrl).href;
  if (!(await answers(adminServer))) await demote(urls);
  await withClient(adminServer, async (client) => {
    await client.query('SELECT pg_advisory_lock(1)');
    const exists = async (sql: string) => ((await client.query(sql)).rowCount ?? 0) > 0;
    if (!(await exists(`SELECT FROM pg_roles WHERE rolname = '${owner}'`))) await client.query(createOwner(urls.url));
    if (!(await exists(`SELECT FROM pg_database WHERE datname = '${owner}'`)))
      await client.query(`CREATE DATABASE ${owner} OWNER ${owner}`);
  });
};

/** It makes the roles of receivers, analysts and queries, and may act as they do. */
const createOwner = (url: string): string => {
  const verifier = scramVerifier(new URL(url).password);
  return `CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD '${verifier}'; ALTER ROLE ${owner} SET createrole_self_grant = 'set, inherit'`;
};

/**
 * The superuser that made a cluster stays one for good. It gets another name, and a new role takes over its name and
 * all that it owned in the database.
 */
const demote = async ({ url, adminUrl, formerUrl }: ClusterUrls): Promise<void> => {
  const helper = `callsync_move_${randomBytes(4).toString('hex')}`;
  const password = randomBytes(24).toString('hex');
  const helperUrl = new URL(formerUrl);
  [helperUrl.username, helperUrl.password] = [helper, password];
  await withClient(formerUrl, (client) =>
    client.query(`CREATE ROLE ${helper} LOGIN SUPERUSER PASSWORD '${scramVerifier(password)}'`),
  );
  await withClient(helperUrl.href, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(1)');
    const { rows } = await client.query(`SELECT FROM pg_roles WHERE rolname = '${owner}' AND rolsuper`);
    if (rows.length > 0) {
      await client.query(`ALTER ROLE ${owner} RENAME TO ${administrator}`);
      await client.query(createOwner(url));
      await client.query(handOver);
    }
    await client.query('COMMIT');
  });
  await withClient(adminUrl, (client) => client.query(`DROP ROLE ${helper}`));
};

/** Members of extensions and sequences of columns go with what they belong to. */
const handOver = `DO $move$ DECLARE statement text; BEGIN
  FOR statement IN
    WITH ours AS (SELECT oid FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'),
         bound AS (SELECT classid, objid FROM pg_depend WHERE deptype IN ('a', 'i', 'e') AND refclassid <> 'pg_namespace'::regclass)
    SELECT format('ALTER DATABASE %I OWNER TO ${owner}', current_database())
    UNION ALL SELECT format('ALTER SCHEMA %s OWNER TO ${owner}', oid::regnamespace) FROM pg_namespace
     WHERE oid IN (SELECT oid FROM ours) AND nspowner = 10
    UNION ALL SELECT format('ALTER %s %s OWNER TO ${owner}', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
             WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, oid::regclass)
      FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'S') AND relnamespace IN (SELECT oid FROM ours)
       AND ('pg_class'::regclass, oid) NOT IN (SELECT classid, objid FROM bound)
    UNION ALL SELECT format('ALTER ROUTINE %s OWNER TO ${owner}', oid::regprocedure) FROM pg_proc
     WHERE pronamespace IN (SELECT oid FROM ours) AND ('pg_proc'::regclass, oid) NOT IN (SELECT classid, objid FROM bound)
    UNION ALL SELECT format('ALTER TEXT SEARCH CONFIGURATION %s OWNER TO ${owner}', oid::regconfig) FROM pg_ts_config
     WHERE cfgnamespace IN (SELECT oid FROM ours)
    UNION ALL SELECT format('ALTER TEXT SEARCH DICTIONARY %s OWNER TO ${owner}', oid::regdictionary) FROM pg_ts_dict
     WHERE dictnamespace IN (SELECT oid FROM ours) AND ('pg_ts_dict'::regclass, oid) NOT IN (SELECT classid, objid FROM bound)
    UNION ALL SELECT format('GRANT %I TO ${owner} WITH ADMIN OPTION', rolname) FROM pg_roles
     WHERE NOT rolsuper AND rolname !~ '^pg_' AND rolname <> '${owner}'
  LOOP EXECUTE statement; END LOOP;
END $move$`;

const answers = async (url: string): Promise<boolean> => {
  try {
    await withClient(url, () => Promise.resolve());
    return true;
  } catch (error) {
    if (missing.has((error as { code?: string }).code ?? '')) return false;
    throw error;
  }
};

const withClient = async (url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  // A server that goes away in the middle is told of by the statement.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
};
