import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { until } from '../support/until.ts';
import { describeStoreStopped } from './store-stopped-cases.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { type StartedReceiver, startReceiver } from './support/receiver.ts';

describe('a store that is slow', () => {
  const database = useInboxDatabase();
  let started: StartedReceiver;
  beforeAll(async () => {
    started = await startReceiver({ databaseUrl: database.url, config: { group_commit: { deadline_s: 3 } } });
  });
  afterAll(async () => {
    await started?.stop();
  });
  beforeEach(() => database.empty());

  const insertsUnderWay = async () => {
    const inserts = await database.store.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND state = 'active' AND query LIKE 'INSERT INTO callsync.inbox%'`,
    );
    return inserts.length;
  };

  test('is waited for until the deadline; then the spool answers, and each delivery lands once', async () => {
    const release = await database.hold();
    const startedAt = Date.now();
    const first = await started.send('first');
    expect(first.delivered).toBe(true);
    expect(first.attempts[0]?.ms).toBeGreaterThan(2_900);
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
    await until('the insert given up on has ended', async () => (await insertsUnderWay()) === 0);
    const rows = await database.rows();
    expect(rows.map((row) => row.delivery_id).sort()).toEqual(['a', 'after', 'b', 'c', 'first']);
    for (const row of rows.filter((one) => one.delivery_id !== 'after')) {
      expect(row.received_at.getTime()).toBeGreaterThanOrEqual(startedAt);
      expect(row.received_at.getTime()).toBeLessThanOrEqual(spooledBy);
    }
    const metrics = await started.registry.metrics();
    expect(metrics).toContain('callsync_webhook_accepted_total{stored_in="spool",key="primary"} 4');
    expect(metrics).toContain('callsync_webhook_drained_total 4');
    expect(metrics).toContain('callsync_spool_records 0');
  });

  test('without room in the spool: 503 long before the service gives up, and not ready', async () => {
    const config = { group_commit: { deadline_s: 0.3 }, spool: { max_bytes: 10 } };
    const small = await startReceiver({ databaseUrl: database.url, config });
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
});

describeStoreStopped({ awayMs: 0 });
