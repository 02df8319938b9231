import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { replayQuarantine } from '../../../src/pipeline/import/replay-quarantine.ts';
import { loadPendingBatch } from '../../../src/pipeline/load/load-pending.ts';
import { mergeBatch } from '../../../src/pipeline/load/merge-inbox.ts';
import { listAgents } from '../../../src/store/delivery/delivery-statistics.ts';
import { createInboxWriter } from '../../../src/store/delivery/inbox-writer.ts';
import { listQuarantine, readQuarantine } from '../../../src/store/delivery/quarantine.ts';
import { walkToEnd } from '../../../src/store/loads/walk.ts';
import { issueEpoch } from '../../../src/store/loads/warehouses.ts';
import { backUp } from '../../support/backup.ts';
import { deliver, type TestDelivery, untilBlocked, usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

const pipeline = usePipeline();

const second = 1_701_699_087;
const receivedAt = new Date((second + 5) * 1000);
const body = (fields: Record<string, unknown>, id = 'c'): string => JSON.stringify({ unique_id: id, ...fields });
const delivery = (text: string | Buffer, at: number) => ({ body: text, deliveryId: `${second + at}.25`, receivedAt });

const merge = async (limit = 200) => {
  const merged = await mergeBatch(pipeline.deps, limit);
  await merged?.folded.load();
  return merged;
};
const mergeAll = async (limit = 200): Promise<number> =>
  (await merge(limit)) === undefined ? 0 : 1 + (await mergeAll(limit));
const ofInbox = (name: string): Promise<string[]> => column(pipeline.store, `SELECT ${name} FROM inbox ORDER BY seq`);
const outcomes = () => ofInbox('outcome');
const rereads = () => column(pipeline.store, 'SELECT call_id FROM rereads ORDER BY 1');
const documentOf = async (id = 'c') => (await pipeline.rowOf(id))?.document;

test('the outcome of a delivery: accepted: folded, loaded, and told to the warehouse', async () => {
  const status = 'qualified';
  await deliver(pipeline.store, [delivery(body({ status }), 0)]);
  const folded = { unchanged: 0, rejected: 0 };
  expect(await merge()).toMatchObject({ deliveries: 1, outcomes: { accepted: 1 }, folded });
  expect(await pipeline.warehouse.query('SELECT call_id, status FROM calls')).toEqual([{ call_id: 'c', status }]);
  await pipeline.drain();
  const sent = { delivery_id: `${second}.25`, hook_id: 'hook', agent: 'Service-Webhook/1.0', signing_key: 'main' };
  const told = { ...sent, call_id: 'c', outcome: 'accepted', reason: null };
  expect(await pipeline.warehouse.query(`SELECT ${Object.keys(told)} FROM deliveries`)).toEqual([told]);
  expect((await pipeline.rowOf('c'))?.seenBy).toEqual({ webhook: second * 1e6 + 250_000 });
});

const voidAt = (at: number) => delivery(body({ status: 'void' }), at);
const [void0, void1, void2, void3] = [voidAt(0), voidAt(1), voidAt(2), voidAt(3)];
const qualified = (at: number) => delivery(body({ status: 'qualified' }), at);
const late = (one: TestDelivery, seconds: number) => ({ ...one, receivedAt: new Date((second + seconds) * 1000) });
const timeless = { ...void0, deliveryId: 'not-a-time' };
const unnamed = (one: TestDelivery) => ({ ...one, deliveryId: null });
const captured = delivery(body({ status: 'void', tags: ['old'] }), -86_400);
const withByte = (byte: number) =>
  delivery(Buffer.from(`{"unique_id":"c","x":"${String.fromCharCode(byte)}"}`, 'latin1'), byte);
const marked = delivery(`\ufeff${body({ status: 'qualified' })}`, 0);
/** Ends a batch. */
const next = undefined;

test.each<[string, (TestDelivery | undefined)[], string, { readonly asked?: true; readonly document?: object }]>([
  ['a retry is a duplicate, in its batch and in a later one', [void0, void0, next, void0], 'add', {}],
  [
    'a retry of what has been overtaken has no effect, even without a usable time in its id',
    [late(timeless, 0), qualified(1), next, late(timeless, 11)],
    'aad',
    { document: { status: 'qualified' } },
  ],
  ['the same body under another id is a duplicate where its values are held', [void0, void1, next, void2], 'add', {}],
  [
    'and otherwise a repeat: not folded, but asked of the API',
    [void0, qualified(1), next, void2, void3],
    'aarr',
    { asked: true, document: { status: 'qualified' } },
  ],
  [
    'without any id, a change back cannot be told from a retry, so the API is asked',
    [unnamed(void0), next, late(unnamed(qualified(0)), 9), unnamed(void0)],
    'aar',
    { asked: true },
  ],
  [
    'a body that was captured and never delivered does not replace what is newer, and the API is asked',
    [qualified(0), next, captured],
    'aa',
    { asked: true, document: { status: 'qualified', tags: ['old'] } },
  ],
  ['a byte order mark is nothing to refuse it for', [marked], 'a', { document: { status: 'qualified' } }],
  ['two bodies that differ in bytes that are no text are two bodies', [withByte(0xfe), withByte(0xff)], 'aa', {}],
])('the outcome of a delivery: %s', async (_, sent, expected, { asked, document = {} }) => {
  for (const one of [...sent, next])
    if (one === next) await mergeAll();
    else await deliver(pipeline.store, [one]);
  expect((await outcomes()).map((outcome) => outcome.slice(0, 1)).join('')).toBe(expected);
  expect(await rereads()).toEqual(asked ? ['c'] : []);
  expect(await documentOf()).toMatchObject(document);
});

test.each([
  [`body = '{"unique_id":"c"}'`, ['c']],
  ['body_hash = NULL', ['c']],
  ['body = NULL', []],
])('the outcome of a delivery: quarantined where it was altered after it was verified: %s', async (set, asked) => {
  await deliver(pipeline.store, [void0]);
  await pipeline.query(`UPDATE inbox SET ${set}`);
  expect(await merge()).toMatchObject({ outcomes: { quarantined: 1 } });
  const refused = asked.length;
  expect(await replayQuarantine(pipeline.deps, { carries: new Set() })).toMatchObject({ replayed: 0, refused });
  expect(await rereads()).toEqual(asked);
});

test('where each change is to be confirmed, the API is asked after every delivery', async () => {
  await deliver(pipeline.store, [void0, delivery(body({ status: 'void' }, 'd'), 0)]);
  expect(await mergeBatch({ ...pipeline.deps, confirmWebhooks: true }, 10)).toMatchObject({ doubted: 2 });
  expect(await rereads()).toEqual(['c', 'd']);
});

test('deliveries of a call whose document is lost are folded again, for fields that nothing else has', async () => {
  for (const one of [captured, captured, qualified(1)]) {
    await pipeline.query('DELETE FROM ledger_documents');
    await deliver(pipeline.store, [one]);
    await mergeAll();
  }
  expect(await documentOf()).toMatchObject({ status: 'qualified', tags: ['old'] });
  expect(await listAgents(pipeline.store)).toMatchObject([{ deliveries: 3 }]);
});

test('the outcome of a delivery: however often a body comes, the store keeps it once', async () => {
  const replayed = body({ status: 'void', filler: 'x'.repeat(100_000) });
  for (let at = 0; at < 20; at += 1) await deliver(pipeline.store, [delivery(replayed, at)]);
  await mergeAll();
  const kept = await column(pipeline.store, 'SELECT octet_length(body) FROM inbox WHERE body IS NOT NULL');
  expect(kept).toEqual([replayed.length]);
});

test('rejected deliveries make no load of their own, and go along with the next one', async () => {
  const nobody = { deliveryId: null, hookId: null, agent: null };
  const rejected = { arrivalId: randomUUID(), ...nobody, receivedAt, reason: 'signature_wrong' };
  await createInboxWriter({ pool: pipeline.store.pool }).recordRejected([rejected]);
  expect(await loadPendingBatch(pipeline.deps, pipeline.target, { origin: 'pending' })).toBeUndefined();
  await deliver(pipeline.store, [void0]);
  await pipeline.settle();
  const told = await column(pipeline.warehouse, 'SELECT outcome FROM deliveries ORDER BY 1');
  expect(told).toEqual(['accepted', 'rejected']);
});

test('the outcome of a delivery: quarantined with its bytes: not JSON, not a call, no identity, too deep', async () => {
  const deep = `{"unique_id":"deep","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
  const notJson = 'the body is not JSON';
  const bad: [body: string | Buffer, reason: string][] = [
    ['{"unique_id":', notJson],
    ['', notJson],
    ['null', 'not a JSON object'],
    ['[{"unique_id":"c"}]', 'not a JSON object'],
    ['{"status":"void"}', 'unique_id is absent'],
    ['{"unique_id":5}', 'unique_id is of type number, not text'],
    ['{"unique_id":"a\\u0000"}', 'unique_id has characters that cannot be stored'],
    [deep, 'the record nests deeper than 200 levels'],
    [Buffer.from([0xff, 0xfe, 0x00]), notJson],
  ];
  const seqs = await deliver(pipeline.store, [...bad.map(([text], n) => delivery(text, n)), voidAt(9)]);
  expect(await merge()).toMatchObject({ outcomes: { quarantined: 9, accepted: 1 } });
  const entries = await listQuarantine(pipeline.store, { state: 'open' });
  expect(entries).toHaveLength(9);
  expect(await ofInbox('reason')).toEqual([...bad.map(([, reason]) => reason), null]);
  for (const [n, [text]] of bad.entries()) {
    const { id = 0, bytes } = entries.find((entry) => entry.origin === `inbox:${seqs[n]}`) ?? {};
    expect(await readQuarantine(pipeline.store, id)).toMatchObject({ body: Buffer.from(text as string), receivedAt });
    expect(bytes).toBe(Buffer.byteLength(text));
  }
});

test('big bodies go in batches of bounded bytes, one of more than that alone', async () => {
  const big = (id: string, megabytes: number) => delivery(body({ padding: 'x'.repeat(megabytes * 2 ** 20) }, id), 0);
  await deliver(pipeline.store, [...[...'abcdefg'].map((id) => big(id, 5)), big('huge', 33), big('last', 1)]);
  const sizes: number[] = [];
  for (let merged = await merge(); merged !== undefined; merged = await merge()) sizes.push(merged.deliveries);
  expect(sizes).toEqual([6, 1, 1, 1]);
  expect(await pipeline.warehouse.query('SELECT count(*) AS n FROM calls')).toEqual([{ n: 9 }]);
  expect(pipeline.logged).toEqual([]);
});

test('several mergers see a retry of what another is just folding', async () => {
  await deliver(pipeline.store, [timeless]);
  let retried: Promise<unknown> | undefined;
  const transaction: typeof pipeline.store.transaction = (work) =>
    pipeline.store.transaction(async (tx) => {
      const folded = await work(tx);
      await deliver(pipeline.store, [late(timeless, 11)]);
      retried = merge();
      await untilBlocked(pipeline.store, retried);
      return folded;
    });
  await mergeBatch({ ...pipeline.deps, store: { ...pipeline.store, transaction } }, 10);
  await retried;
  expect(await outcomes()).toEqual(['accepted', 'duplicate']);
});

/** By delivery: the call's campaign that it brought, and when the warehouse first had it. */
const visible = async (): Promise<Record<string, number>> => {
  const rows = await pipeline.query<{ name: string; at: Date }>(`SELECT visible_at AS at,
        convert_from(body, 'UTF8')::json->>'campaign' AS name FROM inbox JOIN visible_deliveries USING (seq)`);
  return Object.fromEntries(rows.map(({ name, at }) => [name, at.getTime()]));
};
const bring = (campaign: string, id = 'a') =>
  deliver(pipeline.store, [{ body: { unique_id: id, campaign }, deliveryId: String(Date.now() / 1000) }]);
const between = (at: number | undefined, from: number, to: number) => {
  expect(at).toBeGreaterThanOrEqual(from - 1);
  expect(at).toBeLessThanOrEqual(to + 1);
};

test('a worker that ends after its commit and before its record leaves the time of the commit', async () => {
  await bring('killed');
  const from = Date.now();
  let to = 0;
  const killed = pipeline.depsWith({
    load: async (batch) => {
      await pipeline.warehouse.load(batch);
      to = Date.now();
      throw new Error('killed');
    },
  });
  await pipeline.merge(killed);
  expect(await visible()).toEqual({});
  await new Promise((resolve) => setTimeout(resolve, 300));
  await pipeline.drain();
  between((await visible()).killed, from, to);
});

test('a ledger that is set back asks the warehouse when it first had what is loaded once more', async () => {
  await bring('before');
  await pipeline.merge();
  await bring('set-back');
  await bring('set-back-new', 'b');
  const restore = await backUp(pipeline.store.pool, 'callsync');
  const from = Date.now();
  await pipeline.merge();
  const to = Date.now();
  const times = await visible();
  await restore();
  await new Promise((resolve) => setTimeout(resolve, 300));
  await issueEpoch(pipeline.store, 'restored', 5);
  await walkToEnd(pipeline.store, 'main');
  await pipeline.settle();
  const after = await visible();
  expect(after.before).toBe(times.before);
  between(after['set-back'], from, to);
  between(after['set-back-new'], from, to);
});

test('rows that a warehouse has lost are sent again with the first time', async () => {
  await bring('lost');
  await pipeline.settle();
  const first = await column(pipeline.store, 'SELECT visible_at::text FROM visible_deliveries');
  await pipeline.store.pool.query(`DELETE FROM wh_main.changes; DELETE FROM wh_main.deliveries;
      DELETE FROM wh_main.calls; INSERT INTO unloaded_deliveries SELECT 'main', false, seq FROM inbox`);
  await pipeline.drain();
  expect(await column(pipeline.warehouse, 'SELECT visible_at::text FROM deliveries')).toEqual(first);
});
