/** Behind a real PgBouncer. Sessions work as without it; if it shares them, the store refuses to open. */
import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { openCliFolder, withoutService } from '../support/cli.ts';
import { useOpened } from '../support/opened.ts';
import { createBouncedDatabase, isBouncerInstalled } from '../support/pgbouncer.ts';
import { refusal } from '../support/refusal.ts';

describe.skipIf(!isBouncerInstalled)('behind PgBouncer', () => {
  const database = useOpened(createBouncedDatabase);
  test('in session mode names, times and limits are those of the connection, and a lease has one holder', async () => {
    const url = await database.open('session');
    const stores = [await openStore({ url, max: 3 }), await openStore({ url, max: 3 })] as const;
    for (const { close } of stores) onTestFinished(close);
    const [settings] = await stores[0].query(`SELECT current_schema() AS schema,
        current_setting('TimeZone') AS zone, current_setting('statement_timeout') AS limit`);
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
    await Promise.all(stores.map((store) => store.lease.run(name, hold)));
    expect(most).toBe(1);
  });

  test('a pooler that knows the owner alone is named by a query, with the way out', async () => {
    const cli = await openCliFolder();
    onTestFinished(() => cli.remove());
    await cli.configure(withoutService(await database.open('session')));
    const stderr = expect.stringMatching(/DATABASE_POOLING: .*pooler .* does not know the user[\s\S]*reader_url_file/);
    expect(await cli.run(['query', 'SELECT 1'])).toMatchObject({ code: 6, stderr });
  });

  test('transaction mode is refused', async () => {
    const url = await database.open('transaction');
    expect(await refusal(openStore({ url, max: 3 }))).toMatch(/^terminal DATABASE_POOLING: .*pool_mode = session/);
    const cli = await openCliFolder();
    onTestFinished(() => cli.remove());
    const webhook = { port: 0, secrets: [{ name: 'current', secret: 'whsec_of_a_test' }] };
    await cli.configure({ ...withoutService(url), webhook, operations: { enabled: false } });
    for (const command of ['serve', 'worker', 'up']) {
      const stderr = expect.stringMatching(/DATABASE_POOLING: .*pooler in transaction mode/);
      expect(await cli.run([command], { ownProcess: true }), command).toMatchObject({ code: 6, stderr });
    }
  });
});
