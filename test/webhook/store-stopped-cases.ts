import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/local/embedded-postgres.ts';
import { openStore } from '../../src/store/store.ts';
import { makeServerFolder } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { readInbox } from './support/inbox-database.ts';
import { keepSending, startReceiver } from './support/receiver.ts';

/** @param options.awayMs how long the store is away at least. */
export const describeStoreStopped = ({ awayMs }: { awayMs: number }): void => {
  test('a store that stops under load and comes back: no answered delivery is lost, doubled or redated', async () => {
    const dataDir = await makeServerFolder();
    const options = { dataDir, durable: false };
    let server = await startEmbeddedPostgres(options);
    onTestFinished(async () => {
      await server.stop();
      await rm(dataDir, { recursive: true });
    });
    const { url } = server;
    await (await openStore({ url })).close();
    const started = await startReceiver({ databaseUrl: url, config: { group_commit: { deadline_s: 0.5 } } });
    onTestFinished(started.stop);
    const answered = new Map<string, { readonly from: number; readonly to: number }>();
    const refused: string[] = [];
    const stop = keepSending(['p', 'q', 'r', 's'], async (id) => {
      const from = Date.now();
      const { delivered, attempts } = await started.send(id);
      if (delivered) answered.set(id, { from, to: Date.now() });
      else refused.push(`${id} ${attempts[0]?.status ?? attempts[0]?.failure}`);
    });
    const answeredMore = (count: number, goal = answered.size + count) => until('more', () => answered.size >= goal);
    await answeredMore(100);
    await server.stop();
    await Promise.all([answeredMore(200), sleep(awayMs)]);
    expect(started.spool.status().records).toBeGreaterThan(100);
    server = await startEmbeddedPostgres({ ...options, port: Number(new URL(url).port) });
    await until('the store is used again', () => started.receiver.status().storeUsable);
    await answeredMore(100);
    await stop();
    await until('the spool is drained', () => started.spool.status().records === 0);

    const rows = await readInbox(started.pool);
    expect(refused).toEqual([]);
    expect(rows.map((row) => row.delivery_id).sort()).toEqual([...answered.keys()].sort());
    for (const row of rows) {
      const at = answered.get(row.delivery_id ?? '');
      expect(row.received_at.getTime()).toBeGreaterThanOrEqual(at?.from ?? Number.NaN);
      expect(row.received_at.getTime()).toBeLessThanOrEqual(at?.to ?? Number.NaN);
    }
    const spooled = rows.filter((row) => row.spooled).map((row) => Number(row.received_at));
    // The spool keeps the order of its records. A delivery that waited for the store is spooled up to a deadline later.
    let latest = 0;
    for (const at of spooled) {
      expect(latest - at).toBeLessThan(5_000);
      latest = Math.max(latest, at);
    }
  });
};
