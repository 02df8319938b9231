import { expect, test } from 'vitest';
import type { ObservationSource } from '../../../schemas/observation.ts';
import { replayQuarantine } from '../../../src/pipeline/import/replay-quarantine.ts';
import { listQuarantine, quarantineRecords, settleQuarantine } from '../../../src/store/delivery/quarantine.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { deliver, interrupted, usePipeline } from '../../support/pipeline.ts';

const pipeline = usePipeline();

const receivedAt = new Date('2023-12-04T15:18:29.123Z');
const put = (source: ObservationSource, body: string, origin = `${source}:1`) => {
  const record = { source, origin, body: Buffer.from(body), reason: 'before the fix', receivedAt };
  return quarantineRecords(pipeline.store, [record]);
};
const entries = async () =>
  (await listQuarantine(pipeline.store)).map(({ source, state, reason }) => `${source} ${state}: ${reason}`).sort();
const replay = (more = {}) => replayQuarantine(pipeline.deps, { carries: new Set(), ...more });

test('records are folded as what they were: source, time of arrival, and what the list carries', async () => {
  await put('poll', '{"unique_id":"p","status":"void","tags":[],"visit":null}');
  await put('webhook', '{"unique_id":"w","tags":[]}');
  await put('import', '{"unique_id":"i","timestamp":"2023-01-01T00:00:00Z"}');
  expect(await replay({ carries: new Set(['tags']) })).toEqual({ replayed: 3, refused: 0, changed: 3 });
  const at = receivedAt.getTime() * 1000;
  const polled = await pipeline.rowOf('p');
  expect(polled?.document).toEqual({ unique_id: 'p', status: 'void', tags: [] });
  expect(polled?.seenBy).toEqual({ poll: at });
  expect(await pipeline.rowOf('w')).toMatchObject({ document: { unique_id: 'w', tags: [] }, seenBy: { webhook: at } });
  expect((await pipeline.rowOf('i'))?.seenBy).toEqual({ import: Date.parse('2023-01-01T00:00:00Z') * 1000 });
  expect(await entries()).toEqual(['import', 'poll', 'webhook'].map((source) => `${source} replayed: before the fix`));
  expect((await countRows(pipeline.warehouse)).calls).toBe(3);
  expect(await replay()).toEqual({ replayed: 0, refused: 0, changed: 0 });
});

test('what is still refused stays open, with the reason of now', async () => {
  await put('poll', '{"unique_id":5}');
  await put('webhook', 'no json');
  await put('webhook', `{"unique_id":"d","x":${'['.repeat(300)}${']'.repeat(300)}}`);
  await put('import', '{"unique_id":"i"}');
  expect(await replay()).toEqual({ replayed: 0, refused: 4, changed: 0 });
  expect(await entries()).toEqual([
    'import open: no time of its own in the past, and none was given for the import',
    'poll open: unique_id is of type number, not text',
    'webhook open: not JSON',
    'webhook open: the record nests deeper than 200 levels',
  ]);
  expect(await pipeline.store.query('SELECT call_id FROM ledger')).toEqual([]);
  const at = Date.parse('2024-01-01T00:00:00Z') * 1000;
  expect(await replay({ observedAt: at })).toMatchObject({ replayed: 1, refused: 3 });
  expect((await pipeline.rowOf('i'))?.seenBy).toEqual({ import: at });
});

test('only the entries named, and only open ones', async () => {
  for (const id of ['a', 'b', 'c']) await put('webhook', `{"unique_id":"${id}"}`, `inbox:${id}`);
  const [c, b, a] = await listQuarantine(pipeline.store);
  await settleQuarantine(pipeline.store, [b?.id ?? 0], 'dropped');
  expect(await replay({ ids: [a?.id, b?.id] })).toEqual({ replayed: 1, refused: 0, changed: 1 });
  expect((await listQuarantine(pipeline.store, { state: 'open' })).map((entry) => entry.id)).toEqual([c?.id]);
});

test('a replayed delivery has its own time, and the warehouse learns of it', async () => {
  // As if the version that merged it had not understood the record.
  const broken = { body: '{"unique_id":', deliveryId: '1701699087.5', receivedAt: new Date(1_701_699_090_000) };
  await deliver(pipeline.store, [broken]);
  await pipeline.settle();
  const told = () => pipeline.warehouse.query('SELECT outcome, call_id, reason FROM deliveries');
  expect(await told()).toMatchObject([{ outcome: 'quarantined', call_id: null }]);
  await pipeline.query(`UPDATE quarantine SET body = '{"unique_id":"w"}'`);
  expect(await replay()).toMatchObject({ replayed: 1 });
  expect((await pipeline.rowOf('w'))?.seenBy).toEqual({ webhook: 1_701_699_087_500_000 });
  await pipeline.drain();
  expect(await told()).toEqual([{ outcome: 'accepted', call_id: 'w', reason: 'replayed from quarantine' }]);
});

test('settles every delivery that brought the same bytes, also when the first of them has expired', async () => {
  const bytes = { body: '\ufeff{"unique_id":"w"}', receivedAt };
  const seqs = await deliver(pipeline.store, [bytes, bytes, bytes]);
  // As if the version that merged them had not taken the mark.
  await pipeline.query(`UPDATE inbox SET outcome = 'quarantined'`);
  await put('webhook', bytes.body, `inbox:${seqs[0]}`);
  await pipeline.query('DELETE FROM inbox WHERE seq = $1', [seqs[0]]);
  expect(await replay()).toMatchObject({ replayed: 1 });
  const settled = Array(2).fill({ outcome: 'accepted', call_id: 'w' });
  expect(await pipeline.query('SELECT outcome, call_id FROM inbox')).toEqual(settled);
});

test('many and large ones go in batches', async () => {
  for (let n = 0; n < 5; n += 1)
    await put('webhook', JSON.stringify({ unique_id: `l${n}`, x: 'x'.repeat(6 * 1024 * 1024) }));
  const told: number[] = [];
  const observer = { folded: ({ changed }: { changed: number }) => void told.push(changed), loaded: () => undefined };
  const deps = { ...pipeline.deps, observer };
  expect(await replayQuarantine(deps, { carries: new Set() })).toMatchObject({ replayed: 5 });
  expect(told).toEqual([2, 2, 1]);
  const record = { source: 'poll', origin: 'list', reason: 'x', receivedAt } as const;
  const small = Array.from({ length: 450 }, (_, n) => ({ ...record, body: Buffer.from(`{"unique_id":"s${n}"}`) }));
  await quarantineRecords(pipeline.store, small);
  expect(await replay()).toMatchObject({ replayed: 450, changed: 450 });
});

test('what is taken after it was read and before it is folded stays gone, and leaves no call', async () => {
  for (const body of ['{"unique_id":"gone"}', '{"unique_id":17,"n":"gone"}']) await put('webhook', body);
  for (const id of ['dropped', 'kept']) await put('webhook', `{"unique_id":"${id}"}`);
  const { store } = pipeline;
  const take = `UPDATE quarantine SET state = 'dropped', body = CASE WHEN body LIKE '%gone%' THEN '' ELSE body END
    WHERE body LIKE '%gone%' OR body LIKE '%dropped%'`;
  let taking: Promise<unknown> | undefined;
  const beside = interrupted(store, () => (taking ??= store.pool.query(take)));
  const replayed = await replayQuarantine({ ...pipeline.deps, store: beside }, { carries: new Set() });
  expect(replayed).toEqual({ replayed: 1, refused: 0, changed: 1 });
  expect(await store.query('SELECT call_id FROM ledger')).toEqual([{ call_id: 'kept' }]);
  const states = (await listQuarantine(store)).map(({ state }) => state);
  expect(states).toEqual(['replayed', 'dropped', 'dropped', 'dropped']);
});
