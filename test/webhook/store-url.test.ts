import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSecret } from '../../src/lib/secret.ts';
import { setUpReceiverRole } from '../../src/store/delivery/inbox-writer.ts';
import { useFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { startReceiver } from './support/receiver.ts';

const database = useInboxDatabase();
const folder = useFolder('store-url');

test('a password that is changed in store.url_file takes effect while the receiver runs', async () => {
  const { pool } = database.store;
  const role = `rotating_${process.pid}`;
  await setUpReceiverRole(database.store, role, 'before');
  const file = join(folder, 'url');
  const write = (password: string) => {
    const url = new URL(database.url);
    [url.username, url.password] = [role, password];
    return writeFile(file, url.href);
  };
  await write('before');
  const secret = openSecret({ key: 'store.url', file });
  if (secret === undefined) throw new Error('no secret');
  const started = await startReceiver({ databaseUrl: secret.read });
  expect((await started.send('before')).delivered).toBe(true);

  await pool.query(`ALTER ROLE ${role} PASSWORD 'after'`);
  // Until they have ended: one that still ran would take the next delivery.
  await pool.query('SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE usename = $1', [role]);
  expect((await started.send('meanwhile')).delivered).toBe(true);
  expect(started.receiver.status().storeUsable).toBe(false);
  await write('after');
  await until('the store is used again', () => started.receiver.status().storeUsable);
  await until('the spool is drained', () => started.spool.status().records === 0);
  expect((await database.rows()).map((row) => row.delivery_id).sort()).toEqual(['before', 'meanwhile']);
  await started.stop();
  await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
});
