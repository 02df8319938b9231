/** Behind a real PgBouncer: sessions work as without it; where it shares them, the store refuses to open. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../src/local/local-process.ts';
import { resolvePostgresAccount } from '../../src/local/postgres/locate-binaries.ts';
import { createLease } from '../../src/store/loads/compared.ts';
import { openStore } from '../../src/store/store.ts';
import { endProcess, until } from '../support/installation.ts';
import { answers } from '../support/installed-postgres.ts';
import { createDatabase, type TestDatabase } from '../support/postgres.ts';

/** Where Debian has it. */
const program = '/usr/sbin/pgbouncer';
const isInstalled = existsSync(program);
if (!isInstalled) console.warn('Skipped: PgBouncer is not installed (apt-get install pgbouncer).');

describe.skipIf(!isInstalled)('behind PgBouncer', () => {
  let database: TestDatabase;
  let folder: string;
  const running: ChildProcess[] = [];
  beforeAll(async () => {
    database = await createDatabase();
    folder = await mkdtemp('/tmp/callsync-pgbouncer-');
  });
  afterAll(async () => {
    for (const one of running) await endProcess(one, 'SIGINT');
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const startBouncer = async (mode: 'session' | 'transaction'): Promise<string> => {
    const account = await resolvePostgresAccount();
    const port = await findFreePort();
    const url = new URL(database.url);
    const users = join(folder, `users-${mode}`);
    const file = join(folder, `${mode}.ini`);
    await writeFile(users, `"${decodeURIComponent(url.username)}" "${decodeURIComponent(url.password)}"\n`, {
      mode: 0o600,
    });
    await writeFile(
      file,
      `[databases]\n* = host=${url.hostname} port=${url.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\n` +
        `unix_socket_dir =\nauth_type = plain\nauth_file = ${users}\npool_mode = ${mode}\ndefault_pool_size = 20\n`,
    );
    if (account !== undefined) for (const path of [folder, users, file]) await chown(path, account.uid, account.gid);
    running.push(spawn(program, [file], { ...account, cwd: '/', stdio: 'ignore' }));
    url.port = String(port);
    await until('PgBouncer answers', () => answers(url.href));
    return url.href;
  };

  test('in session mode names, times and limits are those of the connection, and a lease has one holder', async () => {
    const url = await startBouncer('session');
    const stores = [await openStore({ url, max: 3 }), await openStore({ url, max: 3 })] as const;
    try {
      const [settings] = await stores[0].query(
        `SELECT current_schema() AS schema, current_setting('TimeZone') AS zone, current_setting('statement_timeout') AS limit`,
      );
      expect(settings).toEqual({ schema: 'callsync', zone: 'UTC', limit: '2min' });
      const name = randomUUID();
      let holders = 0;
      let most = 0;
      const hold = async () => {
        holders += 1;
        most = Math.max(most, holders);
        await stores[0].query('SELECT pg_sleep(0.2)');
        holders -= 1;
      };
      await Promise.all(stores.map((store) => createLease(store).run(name, hold)));
      expect(most).toBe(1);
    } finally {
      for (const store of stores) await store.close();
    }
  });

  test('transaction mode is refused', async () => {
    const url = await startBouncer('transaction');
    await expect(openStore({ url, max: 3 })).rejects.toMatchObject({
      code: 'DATABASE_POOLING',
      kind: 'terminal',
      hint: expect.stringContaining('pool_mode = session'),
    });
  });
});
