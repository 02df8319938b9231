/**
 * One PostgreSQL server for a whole vitest run, one database for each test file that asks.
 *
 *   const database = await createDatabase();   // in beforeAll
 *   database.url                               // postgres://…/test_…
 *   await database.drop();                     // in afterAll
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { inject, onTestFinished } from 'vitest';
import type { TestProject } from 'vitest/node';
import { mayReach, resolvePostgresAccount, startEmbeddedPostgres } from '../../src/local/embedded-postgres.ts';
import { useOpened } from './opened.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    postgresAdminUrl: string;
  }
}

/** A server of one's own, for tests that stop or kill it; the others share one through `createDatabase`. */
export const startPostgres = async () => {
  const dataDir = await makeServerFolder();
  const settings = { max_connections: '300', shared_buffers: '128MB' };
  const server = await startEmbeddedPostgres({ dataDir, durable: false, settings });
  return {
    url: server.url,
    /** Of the superuser, whom callsync itself never is. */
    adminUrl: server.adminUrl,
    pid: server.pid,
    async stop() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

/** A temporary folder that the account of PostgreSQL can reach, also when TMPDIR is private to root. */
export const makeServerFolder = async (): Promise<string> => {
  const account = await resolvePostgresAccount();
  const parent = account === undefined || (await mayReach(account, tmpdir())) ? tmpdir() : '/tmp';
  const folder = await mkdtemp(join(parent, 'callsync-postgres-'));
  await chmod(folder, 0o711);
  return folder;
};

export type TestDatabase = Awaited<ReturnType<typeof createDatabase>>;

export const createDatabase = async () => {
  const adminUrl = inject('postgresAdminUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runOnServer(adminUrl, `CREATE DATABASE ${name} OWNER callsync`);
  return {
    url: new URL(`/${name}`, inject('postgresUrl')).href,
    /** The same database as the superuser sees it. */
    adminUrl: new URL(`/${name}`, adminUrl).href,
    drop: async (): Promise<void> => void (await runOnServer(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
};

/** A database for the tests of a file; it can be used from `beforeAll` on. */
export const useDatabase = (): TestDatabase => useOpened(createDatabase, ({ drop }) => drop());
/** A database for one test. */
export const databaseForTest = async (): Promise<TestDatabase> => {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  return database;
};

/** A database for another user. */
export const urlAs = (url: string, username: string, password: string): string =>
  Object.assign(new URL(url), { username, password }).href;

/** A role that may log in, until the end of the test. @param rightsOf statements that give it rights in the database */
export const roleForTest = async (
  { url, adminUrl }: Pick<TestDatabase, 'url' | 'adminUrl'>,
  rightsOf: (role: string) => string = () => '',
) => {
  const role = `role_${randomBytes(6).toString('hex')}`;
  await runOnServer(adminUrl, `CREATE ROLE ${role} LOGIN PASSWORD 'secret'; ${rightsOf(role)}`);
  onTestFinished(async () => void (await runOnServer(adminUrl, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)));
  return { role, url: urlAs(url, role, 'secret') };
};

/** A database of the shared server as the superuser sees it. */
export const asAdmin = (url: string): string => new URL(new URL(url).pathname, inject('postgresAdminUrl')).href;

/** The caller ends it. */
export const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
};

export const runOnServer = async (url: string, sql: string): Promise<pg.QueryResult> => {
  const client = await connect(url);
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
};

/** vitest's globalSetup. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  project.provide('postgresAdminUrl', server.adminUrl);
  // Benches make databases and begin at a checkpoint; what stands for a restore writes without triggers.
  await runOnServer(server.adminUrl, 'ALTER ROLE callsync CREATEDB; GRANT pg_checkpoint TO callsync');
  await runOnServer(server.adminUrl, 'GRANT SET ON PARAMETER session_replication_role TO callsync');
  return () => server.stop();
};
