/** Two transactions at once: interleavings that a test through the public interface meets only by luck. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { openPool } from '../../../src/postgres/database.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { createLoader } from '../../../src/warehouse/postgres/load.ts';
import type { LoadBatch } from '../../../src/warehouse/warehouse.ts';
import { openPostgres } from '../../support/open-postgres.ts';
import { makeBatch, makeCall, makeTombstone } from '../batches.ts';

const layout = { schema: 'calls', documents: true } as const;
const { database, open, close } = await openPostgres(layout);
afterAll(close);
const pool = openPool({ url: database.url, schema: 'calls', application: 'test', purpose: 'test', max: 12 });
afterAll(() => pool.end());
const warehouse = open({ maxConnections: 8 });
await warehouse.migrate();

const contents = 'calls, utterances, tags, metadata, udfs, contacts, redactions, documents, changes, tombstones, loads';
beforeEach(() => pool.query(`TRUNCATE ${contents}`));

const call = (callId: string, revision: number) => makeCall({ callId, revision, status: `revision ${revision}` });
const tombstone = (callId: string, revision: number) => makeTombstone(callId, revision, []);

/** A load whose transaction stays open until it is ended. */
const startLoad = async (batch: LoadBatch) => {
  const client = await pool.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  await client.query('BEGIN');
  const result = createLoader(layout)(client, batch);
  result.catch(() => undefined);
  return {
    result,
    end: async (how: 'COMMIT' | 'ROLLBACK') => {
      await result.catch(() => undefined);
      await client.query(how);
      client.release();
    },
    isWaiting: async () =>
      (await pool.query(`SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'`, [rows[0].pid]))
        .rowCount === 1,
  };
};

const statuses = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await pool.query('SELECT call_id, status FROM calls')).rows.map(Object.values));
const wrote = { changed: 1, unchanged: 0 };

type Part = Partial<LoadBatch>;
const [newer, older] = [3, 2].map((revision): Part => ({ calls: [call('a', revision)] })) as [Part, Part];
const erased: Part = { tombstones: [tombstone('a', 3)] };
const beside: Part = { calls: [call('a', 2), call('b', 1)] };
const [none, one] = [0, 1].map((changed) => ({ changed, unchanged: 1 }));

/** The load that comes first, the one that waits for it, how the first ends, what the second one then changes, and what is left. */
const interleavings: [string, Part, Part, 'COMMIT' | 'ROLLBACK', object | undefined, Record<string, string>][] = [
  ['an older load waits for a newer one, and changes nothing', newer, older, 'COMMIT', none, { a: 'revision 3' }],
  ['an older load takes the place of an undone newer one', newer, older, 'ROLLBACK', wrote, { a: 'revision 2' }],
  ['a tombstone beside an older load takes its rows away', older, erased, 'COMMIT', wrote, {}],
  ['an older load waits for a tombstone, and changes nothing', erased, beside, 'COMMIT', one, { b: 'revision 1' }],
  ['a load that waited for an undone tombstone is written', erased, older, 'ROLLBACK', wrote, { a: 'revision 2' }],
];

describe.each(['known to the warehouse', 'new to the warehouse'])('a call that is %s', (known) => {
  test.each(interleavings)('%s', async (_, first, second, how, result, left) => {
    if (known.startsWith('known')) await warehouse.load(makeBatch({ calls: [call('a', 1)] }));
    const open = await startLoad(makeBatch(first));
    await open.result;
    const waiting = await startLoad(makeBatch(second));
    await expect.poll(waiting.isWaiting, { interval: 5 }).toBe(true);
    await open.end(how);
    expect(await waiting.result).toEqual(result);
    await waiting.end('COMMIT');
    expect(await statuses()).toEqual(left);
    const { utterances, tags } = await countRows(warehouse);
    const calls = Object.keys(left).length;
    expect({ utterances, tags }).toEqual({ utterances: 2 * calls, tags: calls });
  });
});

test('loads that erase and write each other’s calls do not wait for each other', async () => {
  await warehouse.load(makeBatch({ calls: ['a', 'b', 'c', 'd'].map((id) => call(id, 1)) }));
  for (let round = 0; round < 8; round += 1) {
    const [w, x, y, z] = ['a', 'b', 'c', 'd'].map((id) => `${id}${round}`) as [string, string, string, string];
    await warehouse.load(makeBatch({ calls: [call(w, 1), call(z, 1)] }));
    const results = await Promise.all([
      warehouse.load(makeBatch({ calls: [call(z, 2), call(x, 2)], tombstones: [tombstone(w, 2), tombstone(y, 2)] })),
      warehouse.load(makeBatch({ calls: [call(w, 3), call(y, 3)], tombstones: [tombstone(z, 3), tombstone(x, 3)] })),
      warehouse.load(makeBatch({ calls: [w, x, y, z].map((id) => call(id, 2)) })),
    ]);
    expect(results).toHaveLength(3);
  }
  expect(Object.keys(await statuses()).sort()).toEqual(['a', 'b', 'c', 'd']);
});
