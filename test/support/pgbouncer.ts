/** A real PgBouncer before a database; `undefined` where none is installed. */
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { resolvePostgresAccount } from '../../src/local/embedded-postgres.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { endProcess } from './installation.ts';
import { answers } from './installed-postgres.ts';
import { createDatabase } from './postgres.ts';
import { startServer } from './tools.ts';

/** Where Debian has it. */
export const pgbouncer = '/usr/sbin/pgbouncer';
export const isBouncerInstalled = existsSync(pgbouncer);
if (!isBouncerInstalled) console.warn('Skipped: PgBouncer is not installed (apt-get install pgbouncer).');

/** A PgBouncer before the server of this URL, whose other users it knows by theirs. */
export const startBouncer = async (
  serverUrl: string,
  mode: 'session' | 'transaction',
  others: readonly string[] = [],
) => {
  const folder = await mkdtemp('/tmp/callsync-pgbouncer-');
  const account = await resolvePostgresAccount();
  const port = await findFreePort();
  const url = new URL(serverUrl);
  const [users, file] = [join(folder, 'users'), join(folder, 'pgbouncer.ini')];
  const lines = [serverUrl, ...others].map((one) => {
    const { username, password } = new URL(one);
    return `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`;
  });
  await writeFile(users, lines.join(''), { mode: 0o600 });
  await writeFile(
    file,
    `[databases]\n* = host=${url.hostname} port=${url.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\n` +
      `unix_socket_dir =\nauth_type = plain\nauth_file = ${users}\npool_mode = ${mode}\ndefault_pool_size = 60\n`,
  );
  if (account !== undefined) for (const path of [folder, users, file]) await chown(path, account.uid, account.gid);
  url.port = String(port);
  const child = await startServer(pgbouncer, [file], () => answers(url.href), { ...account, cwd: '/' });
  return {
    url: url.href,
    close: async () => {
      await endProcess(child, 'SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
};

export const createBouncedDatabase = async () => {
  const database = await createDatabase();
  const closers = [database.drop];
  return {
    /** The same database behind a PgBouncer of its own. */
    open: async (mode: 'session' | 'transaction') => {
      const { url, close } = await startBouncer(database.url, mode);
      closers.unshift(close);
      return url;
    },
    close: async () => {
      for (const close of closers) await close();
    },
  };
};
