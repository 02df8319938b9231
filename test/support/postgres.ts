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
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/local/postgres/embedded-postgres.ts';
import { mayReach, resolvePostgresAccount } from '../../src/local/postgres/postgres-account.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export interface PostgresServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A server of one's own, for tests that stop or kill it; the others share one through `createDatabase`. */
export const startPostgres = async (): Promise<PostgresServer> => {
  const dataDir = await makeServerFolder();
  const server = await startEmbeddedPostgres({
    dataDir,
    durable: false,
    settings: { max_connections: '300', shared_buffers: '128MB' },
  });
  return {
    url: server.url,
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

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

export const createDatabase = async (): Promise<TestDatabase> => {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runOnServer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => runOnServer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`),
  };
};

const runOnServer = async (url: string, sql: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
};

/** vitest's globalSetup. */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const server = await startPostgres();
  project.provide('postgresUrl', server.url);
  return () => server.stop();
};
