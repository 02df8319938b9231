import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';
import { openLink } from '../support/link.ts';
import { until } from '../support/until.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { startReceiver } from './support/receiver.ts';

const database = useInboxDatabase();
const folder = useFolder('drain');
beforeEach(() => database.empty());

const stored = async () => (await database.rows()).map((row) => row.delivery_id).sort();

test('a delivery that the store always refuses holds up no other; it is parked, and tried again at the next start', async () => {
  await database.store.pool.query(
    `CREATE FUNCTION callsync.refuse() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '23514'; END $$;
     CREATE TRIGGER refuse BEFORE INSERT ON callsync.inbox FOR EACH ROW
       WHEN (new.delivery_id LIKE 'poison%') EXECUTE FUNCTION callsync.refuse()`,
  );
  const spoolDir = join(folder, 'poisoned');
  const options = { databaseUrl: database.url, spoolDir, config: { group_commit: { max_delay_ms: 20 } } };
  const started = await startReceiver(options);
  const ids = ['a', 'b', 'poison-1', 'c', 'poison-2', 'd'];
  const sent = await Promise.all(ids.map((id) => started.send(id)));
  expect(sent.map(({ delivered }) => delivered)).toEqual(ids.map(() => true));
  await until('the others are stored', async () => (await stored()).join() === 'a,b,c,d');
  await until('both are parked', () => started.spool.status().parked === 2);
  const reported = () => started.logged.filter((line) => line.startsWith('error The store refuses a delivery'));
  await until('both are reported', () => reported().length === 2);
  await until('nothing else waits', () => started.spool.status().records === 0);
  await until('the breaker is closed', () => started.receiver.status().storeUsable);
  expect(await started.registry.metrics()).toContain('callsync_spool_parked_records 2');
  expect(reported()).toHaveLength(2);
  expect((await started.send('e')).delivered).toBe(true);
  await started.stop();

  await database.store.pool.query('DROP TRIGGER refuse ON callsync.inbox');
  const again = await startReceiver(options);
  await until('they are stored', async () => (await stored()).join() === 'a,b,c,d,e,poison-1,poison-2');
  await again.stop();
});

test('a large delivery over a slow link is stored, and the small ones do not wait for it', async () => {
  const link = await openLink(database.url, { bytesPerSecond: 1_000_000 });
  const started = await startReceiver({ databaseUrl: link.url, config: { group_commit: { deadline_s: 0.5 } } });
  const body = JSON.stringify({ unique_id: 'large', filler: 'x'.repeat(4_000_000) });
  // The link needs longer for it than the five deadlines that every batch once had.
  expect((await started.send('large', { body })).delivered).toBe(true);
  await until('the breaker is closed', () => started.receiver.status().storeUsable);
  expect((await started.send('small')).delivered).toBe(true);
  await until('both are stored', async () => (await stored()).join() === 'large,small');
  await started.stop();
  await link.close();
});
