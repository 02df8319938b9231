/** The roles of the embedded server: callsync works as one that is no superuser, so that none of its SQL runs programs or reads files. */
import { createHmac } from 'node:crypto';
import pg from 'pg';
import { scramVerifier } from '../../lib/scram.ts';

/** Owns the database of the same name. */
export const owner = 'callsync';

/** Whoever knows it cannot work out the administrator's. */
export const ownerPassword = (adminPassword: string): string =>
  createHmac('sha256', adminPassword).update(owner).digest('hex');

interface ClusterUrls {
  readonly url: string;
  readonly adminUrl: string;
}

/** 28P01 invalid_password, 3D000 invalid_catalog_name: the role or its database is not there yet. */
const missing = new Set(['28P01', '3D000']);

/** Makes the role and its database where they are missing. */
export const ensureOwner = async (urls: ClusterUrls): Promise<void> => {
  if (await answers(urls.url)) return;
  const adminServer = new URL('/postgres', urls.adminUrl).href;
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
