/** Questions of reconcile to a warehouse: hashes beside guards, digests computed where the rows are, ids, orphans. */
import { expect, test } from 'vitest';
import { contentHash } from '../../src/warehouse/digest.ts';
import type { CallDigest, CallLoad, IdRange, Warehouse } from '../../src/warehouse/warehouse.ts';
import { makeBatch, makeCall } from './batches.ts';
import type { Fixture } from './conformance-fixture.ts';

const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

const digestOf = async (warehouse: Warehouse, callId: string, dates?: string[]): Promise<CallDigest | undefined> =>
  (await collect(warehouse.digestCalls([callId, 'nobody'], dates)))[0];

/** Values whose texts differ between databases where nobody takes care. */
const makeOddCall = (callId: string): CallLoad => {
  const text = 'ünï \u{1f600} "q" \\ : - 5:x';
  const call = makeCall({ callId, utterances: 3, tags: 12, text, extra: { odd: { b: [1e21, 0.1], a: null } } });
  const floats = [5e-324, -0.30000000000000004, 1.7976931348623157e308, null, 0, 123456789.123, 1e-7, 3, 1e22, 1e15];
  const part = (from: number) => floats.slice(from, from + 3);
  const utterances = call.flatten().utterances.map((row, index) => ({
    ...row,
    start_offset: floats[index],
    words: { value: [text, '', null], ...{ start: part(0), length: part(3), score: part(6) } },
  }));
  const numbers = [`${'9'.repeat(38)}.${'9'.repeat(38)}`, '-0.00', '100', '-123.450', '0.0010'];
  const udfs = numbers.map((value, index) => ({
    ...{ call_id: callId, call_timestamp: call.callTimestamp, kind: 'num', udf_index: index },
    ...{ value_number: value, value_text: value, unparsable: index === 0 },
  }));
  return { ...call, flatten: () => ({ ...call.flatten(), utterances, udfs }) };
};

export const testDigests = (on: Fixture): void => {
  test('digests computed by SQL are those of the rows that were sent, odd values and calls without children too', async () => {
    const odd = makeOddCall(on.newId());
    const plain = makeCall({ callId: on.newId(), timestamp: null, utterances: 0, tags: 0, text: '' });
    const calls = [odd, plain];
    await on.warehouse.load(makeBatch({ calls }));
    const found = await collect(on.warehouse.digestCalls([plain.callId, 'nobody', odd.callId]));
    expect(found).toEqual(calls.map(({ callId, flatten }) => on.warehouse.digestOf(callId, flatten())));
    expect(await digestOf(on.warehouse, odd.callId, ['2026-01-05'])).toEqual(found[0]);
    const guards = await collect(on.warehouse.listGuards({ callIds: [odd.callId, plain.callId] }));
    expect(guards.map((guard) => guard.contentHash)).toEqual(calls.map(({ flatten }) => contentHash(flatten())));
  });

  test('words are stored as sent, however they stand to the content, and have the digest of what was sent', async () => {
    const spoken: [content: string | null, words: (string | null)[]][] = [
      ['a b', ['a', 'b']],
      ['a  b ', ['a', '', 'b', '']],
      ['é ☎️', ['é', '☎️']],
      ['a b', ['a b']],
      ['a b', ['a', 'b', '']],
      ['a b', ['a']],
      ['a bc', ['a', 'b']],
      ['a ', ['a', null]],
      ['', ['']],
      ['', []],
      [null, ['a']],
    ];
    const call = makeCall({ callId: on.newId(), utterances: spoken.length });
    const measures = (words: readonly unknown[], step: number) => words.map((_, index) => index * step);
    const utterances = call.flatten().utterances.map((row, index) => {
      const [content, value] = spoken[index] ?? [null, []];
      const words = { value, start: measures(value, 4), length: measures(value, 2), score: measures(value, 0.25) };
      return { ...row, content, word_count: value.length, words };
    });
    const sent = { ...call, flatten: () => ({ ...call.flatten(), utterances }) };
    await on.warehouse.load(makeBatch({ calls: [sent] }));
    const rows = await on.rows('words', call.callId);
    const names = ['utterance_index', 'word_index', 'value', 'start_offset', 'length', 'score'];
    expect(rows.map((row) => names.map((name) => row[name])).sort()).toEqual(
      spoken.flatMap(([, words], at) => words.map((word, n) => [at, n, word, n * 4, n * 2, n / 4])).sort(),
    );
    expect(await digestOf(on.warehouse, call.callId)).toEqual(on.warehouse.digestOf(call.callId, sent.flatten()));
  });

  test('an altered value, a deleted row and an added row change the digest of their table only', async () => {
    const callId = on.newId();
    const call = makeCall({ callId, tags: 2 });
    await on.warehouse.load(makeBatch({ calls: [call] }));
    const expected = on.warehouse.digestOf(callId, call.flatten()).tables;
    const differing = async (): Promise<string[]> => {
      const found = (await digestOf(on.warehouse, callId))?.tables ?? {};
      return Object.keys(expected).filter((table) => found[table] !== expected[table]);
    };
    const where = `WHERE call_id = '${callId}'`;
    await on.target.execute(`UPDATE calls SET duration = duration + 0.000000001 ${where}`);
    await on.target.execute(`DELETE FROM utterances ${where} AND utterance_index = 1`);
    await on.target.execute(`UPDATE documents SET document = JSON '{"forged": 1}' ${where}`);
    await on.target.execute(`INSERT INTO metadata (call_id, key, value) VALUES ('${callId}', 'added', 'y')`);
    expect(await differing()).toEqual(['calls', 'utterances', 'metadata', 'documents']);
    await on.warehouse.load(makeBatch({ calls: [{ ...call, partitions: ['2026-01-05'] }], force: true }));
    expect(await differing()).toEqual([]);
  });

  test('a child row that was added under another time than its call has is found, and goes', async () => {
    const callId = on.newId();
    await on.load({ callId, timestamp: '2025-07-03T00:00:00Z' });
    const before = await digestOf(on.warehouse, callId);
    await on.target.execute(`INSERT INTO metadata (call_id, call_timestamp, key, value)
      VALUES ('${callId}', TIMESTAMP '2001-02-03 04:05:06+00', 'added', 'y')`);
    expect(await collect(on.warehouse.listOrphans())).toEqual([callId]);
    await on.warehouse.removeOrphans([callId]);
    expect(await collect(on.warehouse.listOrphans())).toEqual([]);
    expect(await digestOf(on.warehouse, callId)).toEqual(before);
  });

  test('equal guards with other content have other hashes', async () => {
    const callId = on.newId();
    await on.load({ callId, revision: 2, text: 'lost' });
    const kept = makeCall({ callId, revision: 2, text: 'kept', partitions: ['2026-01-05'] });
    expect(await on.warehouse.load(makeBatch({ calls: [kept] }))).toMatchObject({ changed: 0, unchanged: 1 });
    const [guard] = await collect(on.warehouse.listGuards({ callIds: [callId] }));
    expect(guard?.contentHash).toBe(contentHash(makeCall({ callId, revision: 2, text: 'lost' }).flatten()));
    expect(guard?.contentHash).not.toBe(contentHash(kept.flatten()));
  });

  test('ids by time and without one are listed, and child rows whose call is gone', async () => {
    const [first, second, undated] = [on.newId(), on.newId(), on.newId()] as [string, string, string];
    const from = Date.parse('2025-07-01T00:00:00Z') * 1000;
    await on.load({ callId: first, timestamp: '2025-07-01T00:00:00Z' });
    await on.load({ callId: second, timestamp: '2025-07-01T00:00:01Z' });
    await on.load({ callId: undated, timestamp: null });
    const list = (range: IdRange) => collect(on.warehouse.listCallIds(range));
    expect(await list({ from, to: from + 1_000_001 })).toEqual([first, second]);
    expect(await list({ from, to: from + 1_000_000 })).toEqual([first]);
    expect(await list('undated')).toContain(undated);
    expect(await list('all')).toEqual(expect.arrayContaining([first, second, undated]));
    expect(await collect(on.warehouse.listOrphans())).toEqual([]);
    await on.target.execute(`DELETE FROM calls WHERE call_id = '${second}'`);
    expect(await collect(on.warehouse.listOrphans())).toEqual([second]);
    const parts = [];
    for (const part of [0, 1, 2]) parts.push(...(await collect(on.warehouse.listOrphans({ part, of: 3 }))));
    expect(new Set(parts)).toEqual(new Set([second]));
    // Behind the last page of every table: a part reads its pages and no others.
    expect(await collect(on.warehouse.listOrphans({ part: 9_999, of: 10_000 }))).toEqual([]);
    await on.load({ callId: second, revision: 1, timestamp: '2025-07-01T00:00:01Z', partitions: ['2025-07-01'] });
    expect(await collect(on.warehouse.listOrphans())).toEqual([]);
  });

  test('calls that the ledger does not know go with all their rows, unless their guard has changed; so do orphans', async () => {
    const [gone, kept, orphan] = [on.newId(), on.newId(), on.newId()] as [string, string, string];
    for (const callId of [gone, kept, orphan]) await on.load({ callId, timestamp: '2025-07-02T00:00:00Z' });
    const guards = await collect(on.warehouse.listGuards({ callIds: [gone, kept] }));
    await on.load({ callId: kept, revision: 2, timestamp: '2025-07-02T00:00:00Z', partitions: ['2025-07-02'] });
    await on.warehouse.removeCalls(guards);
    expect(await digestOf(on.warehouse, gone)).toBeUndefined();
    const [left] = await collect(on.warehouse.listGuards({ callIds: [gone, kept] }));
    expect(left).toMatchObject({ callId: kept, revision: 2 });
    await on.target.execute(`DELETE FROM calls WHERE call_id = '${orphan}'`);
    await on.warehouse.removeOrphans([orphan, kept]);
    expect(await digestOf(on.warehouse, orphan)).toBeUndefined();
    expect(await digestOf(on.warehouse, kept)).toBeDefined();
    expect(await collect(on.warehouse.listOrphans())).toEqual([]);
  });
};
