/** Workers hear of deliveries through the store: receivers have no way to Temporal. */
import { expect, test, vi } from 'vitest';
import { openPool } from '../../src/postgres/database.ts';
import { createInboxWriter, listenToInbox } from '../../src/store/delivery/inbox-writer.ts';
import { useDatabase } from '../support/postgres.ts';

const database = useDatabase();

test('a receiver wakes whoever listens, and a connection that was lost comes back and tells what it may have missed', async () => {
  const pool = (application: string) =>
    openPool({ url: database.url, schema: 'callsync', application, purpose: 'store', max: 1 });
  const [listening, writing] = [pool('test listener'), pool('test receiver')];
  let heard = 0;
  const heardNot = () => expect.unreachable();
  const listener = listenToInbox(listening, () => heard++, heardNot);
  await expect.poll(() => heard).toBe(1);
  const inbox = createInboxWriter({ pool: writing });
  await inbox.wake();
  await expect.poll(() => heard).toBe(2);
  await writing.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test listener' AND datname = current_database()`,
  );
  await expect.poll(() => heard).toBe(3);
  await inbox.wake();
  await expect.poll(() => heard).toBe(4);
  await listener.stop();
  await Promise.all([listening.end(), writing.end()]);
});

test('who cannot listen is told of it once, and not of each attempt', async () => {
  const pool = openPool({
    url: database.url.replace(/\/[^/]*$/, '/no_such_database'),
    schema: 'callsync',
    application: 'test listener',
    purpose: 'store',
    max: 1,
  });
  const connect = vi.spyOn(pool, 'connect');
  const failed = vi.fn();
  const listener = listenToInbox(pool, () => expect.unreachable(), failed);
  await expect.poll(() => connect.mock.calls.length).toBe(4);
  await listener.stop();
  expect(failed).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: '3D000' }));
  await pool.end();
});
