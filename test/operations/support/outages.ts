/** Losses of an installation: connections to its database, and a table that others write to. */

import { connect, runOnServer } from '../../support/postgres.ts';
import type { Site } from './site.ts';

/** In another database of the same server: a database that is used cannot be closed from within. */
const onServer = ({ databaseUrl }: Site, sql: string) => runOnServer(new URL('/postgres', databaseUrl).href, sql);

/** The database takes no new connection, and the receiver loses its own, until the returned function is called. */
export const awayDatabase = async (site: Site): Promise<() => Promise<void>> => {
  const name = new URL(site.databaseUrl).pathname.slice(1);
  await onServer(site, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await onServer(
    site,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = '${name}' AND application_name = 'callsync receiver'`,
  );
  return async () => void (await onServer(site, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`));
};

/** Nobody writes to a table until the returned function is called. */
export const lockTable = async ({ databaseUrl }: Site, table: string): Promise<() => Promise<void>> => {
  const client = await connect(databaseUrl);
  await client.query('BEGIN');
  await client.query(`LOCK TABLE ${table} IN EXCLUSIVE MODE`);
  return () => client.end();
};
