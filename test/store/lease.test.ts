import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openPool } from '../../src/postgres/database.ts';
import { createInboxWriter, listenToInbox } from '../../src/store/delivery/inbox-writer.ts';
import { openErasureLog } from '../../src/store/erasure-log.ts';
import { seekErased, whileSought } from '../../src/store/persons/keys.ts';
import { openStore } from '../../src/store/store.ts';
import { readChainHeads, recordChainHead } from '../../src/store/windows/chain.ts';
import { useFolder } from '../support/folder.ts';
import { useOpened } from '../support/opened.ts';
import { useDatabase } from '../support/postgres.ts';

const database = useDatabase();
const store = useOpened(() => openStore({ url: database.url, max: 3 }));

test('one holder at a time for a name, also after a failed one; others wait outside the pool', async () => {
  const { lease } = store;
  let holders = 0;
  let most = 0;
  const hold = (name: string) =>
    lease.run(name, async () => {
      holders += 1;
      most = Math.max(most, holders);
      await delay(20);
      holders -= 1;
      return name;
    });
  expect(await Promise.all([hold('a'), hold('a'), hold('a')])).toEqual(['a', 'a', 'a']);
  expect(most).toBe(1);
  await lease.run('x', () => lease.run('y', () => Promise.resolve()));
  await expect(lease.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await hold('a')).toBe('a');
  let waiting: Promise<unknown>[] = [];
  await lease.run('busy', async () => {
    waiting = Array.from({ length: 6 }, () => lease.run('busy', () => Promise.resolve()));
    await delay(100);
    // The pool has three connections, one of which holds the lease.
    for (let n = 0; n < 5; n += 1) await store.pool.query('SELECT 1');
  });
  await Promise.all(waiting);
});

test('a holder whose connection breaks is told, and another may start', async () => {
  const { lease } = store;
  const first = lease.run('broken', async (signal) => {
    await store.pool.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
        AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
    for (const end = Date.now() + 50_000; !signal.aborted && Date.now() < end; ) await delay(5);
    return signal.aborted;
  });
  expect(await first).toBe(true);
  expect(await lease.run('broken', () => Promise.resolve(2))).toBe(2);
});

const folder = useFolder('hosts');

test('files beside the store are added to by one host at a time, also inside the transaction of an erasure', async () => {
  const other = await openStore({ url: database.url, max: 3 });
  onTestFinished(() => other.close());
  const heads = join(folder, 'heads.json');
  const names = Array.from({ length: 8 }, (_, n) => `w${n}`);
  const record = (warehouse: string, n: number) =>
    recordChainHead(n % 2 === 0 ? store : other, heads, { warehouse, ledger_epoch: 1, verdict_id: n, digest: 'd' });
  await Promise.all(names.map(record));
  expect((await readChainHeads(heads)).map(({ warehouse }) => warehouse).sort()).toEqual(names);

  const [log, again] = [openErasureLog(join(folder, 'erasures.log')), openErasureLog(join(folder, 'erasures.log'))];
  let appending: Promise<void> | undefined;
  await store.transaction(async (tx) => {
    await log.append(tx, [{ call: 'first' }]);
    appending = again.append(other, [{ call: 'second' }]);
    await delay(100);
    await log.append(tx, [{ call: 'third' }]);
  });
  await appending;
  expect((await log.read()).selectors.map(({ key }) => key)).toEqual(['first', 'third', 'second']);
  // Nothing that is written there can be read back.
  const lost = openErasureLog('/dev/null').append(store, [{ call: 'lost' }]);
  await expect(lost).rejects.toMatchObject({ code: 'ERASURE_LOG' });
});

test('a search for erased calls that ends does not end a search that was asked for meanwhile', async () => {
  const searches: string[] = [];
  await seekErased(store, ['first'], false);
  await whileSought(store, async () => {
    searches.push('first');
    await seekErased(store, ['second'], false);
  });
  for (const name of ['second', 'none']) await whileSought(store, async () => void searches.push(name));
  expect(searches).toEqual(['first', 'second']);
});

test('where one host came to in its log says nothing of the log of another host', async () => {
  const entries = (name: string) => Array.from({ length: 3 }, (_, n) => ({ call: `${name}${n}`.padEnd(64, '0') }));
  const [mine, theirs] = [openErasureLog(join(folder, 'mine.log')), openErasureLog(join(folder, 'theirs.log'))];
  await mine.append(store, entries('a'));
  await theirs.append(store, entries('b'));
  const { end } = await mine.read();
  expect((await theirs.read(end)).selectors).toHaveLength(3);
  await mine.append(store, entries('c').slice(0, 1));
  expect((await mine.read(end)).selectors).toHaveLength(1);
  // A release before noted bytes alone.
  expect((await mine.read(end.bytes as never)).selectors).toHaveLength(4);
});

const pool = (application: string, url = database.url) =>
  openPool({ url, schema: 'callsync', application, purpose: 'store', max: 1 });

const unreachable = () => expect.unreachable();

/** Workers hear of deliveries through the store: receivers have no way to Temporal. */
test('a receiver wakes listeners; a lost connection comes back and tells what it may have missed', async () => {
  const [listening, writing] = [pool('test listener'), pool('test receiver')];
  let heard = 0;
  const listener = listenToInbox(listening, () => heard++, unreachable);
  await expect.poll(() => heard).toBe(1);
  const inbox = createInboxWriter({ pool: writing });
  await inbox.wake();
  await expect.poll(() => heard).toBe(2);
  await writing.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test listener'
      AND datname = current_database()`);
  await expect.poll(() => heard).toBe(3);
  await inbox.wake();
  await expect.poll(() => heard).toBe(4);
  await listener.stop();
  await Promise.all([listening.end(), writing.end()]);
});

test('who cannot listen is told of it once, and not of each attempt', async () => {
  const deaf = pool('test listener', database.url.replace(/\/[^/]*$/, '/no_such_database'));
  const connect = vi.spyOn(deaf, 'connect');
  const failed = vi.fn();
  const listener = listenToInbox(deaf, unreachable, failed);
  await expect.poll(() => connect.mock.calls.length).toBe(4);
  await listener.stop();
  expect(failed).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: '3D000' }));
  await deaf.end();
});
