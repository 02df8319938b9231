/** The store is slow, always refuses a delivery, lies behind a slow link, or stops. */
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { useFolder } from '../support/folder.ts';
import { openLink } from '../support/link.ts';
import { until } from '../support/until.ts';
import { describeStoreStopped } from './store-stopped-cases.ts';
import { useInboxDatabase } from './support/inbox-database.ts';

const database = useInboxDatabase();
const folder = useFolder('drain');
beforeEach(() => database.empty());

const stored = async () => (await database.rows()).map((row) => row.delivery_id).sort();

const inserting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND state = 'active' AND query LIKE 'INSERT INTO callsync.inbox%'`;

test('a slow store is waited for until the deadline; then the spool answers, and each delivery lands once', async () => {
  const started = await database.receive({ config: { group_commit: { deadline_s: 3 } } });
  const release = await database.hold();
  const startedAt = Date.now();
  const { delivered, attempts } = await started.send('first');
  expect([delivered, (attempts[0]?.ms ?? 0) > 2_900]).toEqual([true, true]);
  const insert = vi.spyOn(started.inbox, 'insert');
  const others = await Promise.all(['a', 'b', 'c'].map((id) => started.send(id)));
  expect(others.map(({ delivered }) => delivered)).toEqual([true, true, true]);
  // Not one more waits for the deadline.
  expect(insert).not.toHaveBeenCalled();
  expect(started.spool.status().records).toBe(4);
  expect(started.receiver.status().storeUsable).toBe(false);
  const spooledBy = Date.now();

  // The insert given up on was still waiting for the lock: it and the drain bring the same delivery.
  await release();
  await until('the spool is drained', () => started.spool.status().records === 0);
  await until('the store is used again', () => started.receiver.status().storeUsable);
  expect((await started.send('after')).delivered).toBe(true);
  await until('all are stored', async () => (await database.rows()).length >= 5);
  // It would come back into the table that the next test empties.
  await until('the insert given up on has ended', async () => (await database.store.query(inserting)).length === 0);
  expect(await stored()).toEqual(['a', 'after', 'b', 'c', 'first']);
  for (const row of (await database.rows()).filter((one) => one.delivery_id !== 'after')) {
    expect(row.received_at.getTime()).toBeGreaterThanOrEqual(startedAt);
    expect(row.received_at.getTime()).toBeLessThanOrEqual(spooledBy);
  }
  const spooled = 'callsync_webhook_accepted_total{stored_in="spool",key="primary"} 4';
  for (const line of [spooled, 'callsync_webhook_drained_total 4', 'callsync_spool_records 0'])
    expect(await started.registry.metrics()).toContain(line);
});

test('a store that is slow without room in the spool: 503 long before the service gives up, and not ready', async () => {
  const small = await database.receive({ config: { group_commit: { deadline_s: 0.3 }, spool: { max_bytes: 10 } } });
  const release = await database.hold();
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => small.send(`${n}`)));
  // The sender gives up after ten seconds, as the service does, and has no status then.
  for (const { attempts } of answers) expect(attempts[0]?.status).toBe(503);
  expect(small.receiver.ready()).toBe(false);
  await release();
  await until('the store is used again', () => small.receiver.status().storeUsable);
  // On a busy machine an insert takes longer than its deadline now and then, and there is no spool to help.
  await until('a later one is taken', async () => (await small.send('later')).delivered);
  await small.stop();
  // Not a line for each.
  expect(small.logged.filter((line) => line.includes('since the last such line'))).toHaveLength(1);
  expect(small.logged.length).toBeLessThan(answers.length);
});

test('a delivery that the store always refuses holds up no other, is parked, and tried at the next start', async () => {
  await database.store.pool.query(
    `CREATE FUNCTION callsync.refuse() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '23514'; END $$;
     CREATE TRIGGER refuse BEFORE INSERT ON callsync.inbox FOR EACH ROW
       WHEN (new.delivery_id LIKE 'poison%') EXECUTE FUNCTION callsync.refuse()`,
  );
  const options = { spoolDir: join(folder, 'poisoned'), config: { group_commit: { max_delay_ms: 20 } } };
  const started = await database.receive(options);
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
  await database.receive(options);
  await until('they are stored', async () => (await stored()).join() === 'a,b,c,d,e,poison-1,poison-2');
});

test('a large delivery over a slow link is stored, and the small ones do not wait for it', async () => {
  const link = await openLink(database.url, { bytesPerSecond: 1_000_000 });
  onTestFinished(link.close);
  const started = await database.receive({ databaseUrl: link.url, config: { group_commit: { deadline_s: 0.5 } } });
  const body = JSON.stringify({ unique_id: 'large', filler: 'x'.repeat(4_000_000) });
  // The link needs longer for it than the five deadlines that every batch once had.
  expect((await started.send('large', { body })).delivered).toBe(true);
  await until('the breaker is closed', () => started.receiver.status().storeUsable);
  expect((await started.send('small')).delivered).toBe(true);
  await until('both are stored', async () => (await stored()).join() === 'large,small');
  // The connection that was given up on had only part of it, and may have sent the rest since.
  expect((await database.rows()).map((row) => row.body?.equals(Buffer.from(body)))).toContain(true);
});

describeStoreStopped({ awayMs: 0 });
