/** Questions of reconcile to a warehouse: hashes beside guards, digests of rows, ids, orphans. */
import { describe, expect, test } from 'vitest';
import { contentHash, countRows } from '../../src/warehouse/content-hash.ts';
import type { CallDigest, CallLoad, IdRange, Warehouse } from '../../src/warehouse/warehouse.ts';
import { collect } from '../support/rows.ts';
import { allRows, children, makeBatch, makeCall, makeLogRow, verdictValues } from './batches.ts';
import { type Fixture, useFixture } from './conformance-fixture.ts';
import type { Target } from './conformance-targets.ts';

const digestOf = async (warehouse: Warehouse, callId: string, dates?: string[]): Promise<CallDigest | undefined> =>
  (await collect(warehouse.proof.digestCalls([callId, 'nobody'], dates)))[0];

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

const testDigests = (on: Fixture): void => {
  test('digests of stored rows are those of the sent rows, with odd values and without children too', async () => {
    const odd = makeOddCall(on.newId());
    const plain = makeCall({ callId: on.newId(), timestamp: null, utterances: 0, tags: 0, text: '' });
    const calls = [odd, plain];
    await on.warehouse.load(makeBatch({ calls }));
    const found = await collect(on.warehouse.proof.digestCalls([plain.callId, 'nobody', odd.callId]));
    expect(found).toEqual(calls.map(({ callId, flatten }) => on.warehouse.proof.digestOf(callId, flatten())));
    expect(await digestOf(on.warehouse, odd.callId, ['2026-01-05'])).toEqual(found[0]);
    const guards = await collect(on.warehouse.proof.listGuards({ callIds: [odd.callId, plain.callId] }));
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
    const told = spoken.flatMap(([, words], at) => words.map((word, n) => [at, n, word, n * 4, n * 2, n / 4]));
    expect(rows.map((row) => names.map((name) => row[name])).sort()).toEqual(told.sort());
    expect(await digestOf(on.warehouse, call.callId)).toEqual(on.warehouse.proof.digestOf(call.callId, sent.flatten()));
  });

  test('an altered value, a deleted row and an added row change the digest of their table only', async () => {
    const callId = on.newId();
    const call = makeCall({ callId, tags: 2 });
    await on.warehouse.load(makeBatch({ calls: [call] }));
    const expected = on.warehouse.proof.digestOf(callId, call.flatten()).tables;
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

  test('words that were cut or made longer by hand, or taken away, change the digest', async () => {
    const callId = on.newId();
    const call = makeCall({ callId });
    await on.warehouse.load(makeBatch({ calls: [call] }));
    const isBigquery = on.warehouse.traits.kind === 'bigquery';
    const changes = isBigquery
      ? ['words = []']
      : ['word_scores = word_scores || 0.5', 'word_starts = NULL', `word_values = '{}'`];
    for (const change of changes) {
      await on.target.execute(`UPDATE utterances SET ${change} WHERE call_id = '${callId}'`);
      const { utterances } = (await digestOf(on.warehouse, callId))?.tables ?? {};
      expect(utterances, change).not.toBe(on.warehouse.proof.digestOf(callId, call.flatten()).tables.utterances);
      await on.warehouse.load(makeBatch({ calls: [{ ...call, partitions: ['2026-01-05'] }], force: true }));
    }
  });

  test('a child row that was added under another time than its call has is found, and goes', async () => {
    const callId = on.newId();
    await on.load({ callId, timestamp: '2025-07-03T00:00:00Z' });
    const before = await digestOf(on.warehouse, callId);
    await on.target.execute(`INSERT INTO metadata (call_id, call_timestamp, key, value)
      VALUES ('${callId}', TIMESTAMP '2001-02-03 04:05:06+00', 'added', 'y')`);
    expect(await collect(on.warehouse.proof.listOrphans())).toEqual([callId]);
    await on.warehouse.proof.removeOrphans([callId]);
    expect(await collect(on.warehouse.proof.listOrphans())).toEqual([]);
    expect(await digestOf(on.warehouse, callId)).toEqual(before);
  });

  test('equal guards with other content have other hashes', async () => {
    const callId = on.newId();
    await on.load({ callId, revision: 2, text: 'lost' });
    const kept = makeCall({ callId, revision: 2, text: 'kept', partitions: ['2026-01-05'] });
    expect(await on.warehouse.load(makeBatch({ calls: [kept] }))).toMatchObject({ changed: 0, unchanged: 1 });
    const [guard] = await collect(on.warehouse.proof.listGuards({ callIds: [callId] }));
    expect(guard?.contentHash).toBe(contentHash(makeCall({ callId, revision: 2, text: 'lost' }).flatten()));
    expect(guard?.contentHash).not.toBe(contentHash(kept.flatten()));
  });

  test('ids by time and without one are listed, and child rows whose call is gone', async () => {
    const [first, second, undated] = [on.newId(), on.newId(), on.newId()] as [string, string, string];
    const from = Date.parse('2025-07-01T00:00:00Z') * 1000;
    await on.load({ callId: first, timestamp: '2025-07-01T00:00:00Z' });
    await on.load({ callId: second, timestamp: '2025-07-01T00:00:01Z' });
    await on.load({ callId: undated, timestamp: null });
    const list = (range: IdRange) => collect(on.warehouse.proof.listCallIds(range));
    expect(await list({ from, to: from + 1_000_001 })).toEqual([first, second]);
    expect(await list({ from, to: from + 1_000_000 })).toEqual([first]);
    expect(await list('undated')).toContain(undated);
    expect(await list('all')).toEqual(expect.arrayContaining([first, second, undated]));
    expect(await collect(on.warehouse.proof.listOrphans())).toEqual([]);
    await on.target.execute(`DELETE FROM calls WHERE call_id = '${second}'`);
    expect(await collect(on.warehouse.proof.listOrphans())).toEqual([second]);
    const parts = [];
    for (const part of [0, 1, 2]) parts.push(...(await collect(on.warehouse.proof.listOrphans({ part, of: 3 }))));
    expect(new Set(parts)).toEqual(new Set([second]));
    // Behind the last page of every table: a part reads its pages and no others.
    expect(await collect(on.warehouse.proof.listOrphans({ part: 9_999, of: 10_000 }))).toEqual([]);
    await on.load({ callId: second, revision: 1, timestamp: '2025-07-01T00:00:01Z', partitions: ['2025-07-01'] });
    expect(await collect(on.warehouse.proof.listOrphans())).toEqual([]);
  });

  test('calls that the ledger does not know go with all rows, unless their guard changed; so do orphans', async () => {
    const [gone, kept, orphan] = [on.newId(), on.newId(), on.newId()] as [string, string, string];
    for (const callId of [gone, kept, orphan]) await on.load({ callId, timestamp: '2025-07-02T00:00:00Z' });
    const guards = await collect(on.warehouse.proof.listGuards({ callIds: [gone, kept] }));
    await on.load({ callId: kept, revision: 2, timestamp: '2025-07-02T00:00:00Z', partitions: ['2025-07-02'] });
    await on.warehouse.proof.removeCalls(guards);
    expect(await digestOf(on.warehouse, gone)).toBeUndefined();
    const [left] = await collect(on.warehouse.proof.listGuards({ callIds: [gone, kept] }));
    expect(left).toMatchObject({ callId: kept, revision: 2 });
    await on.target.execute(`DELETE FROM calls WHERE call_id = '${orphan}'`);
    await on.warehouse.proof.removeOrphans([orphan, kept]);
    expect(await digestOf(on.warehouse, orphan)).toBeUndefined();
    expect(await digestOf(on.warehouse, kept)).toBeDefined();
    expect(await collect(on.warehouse.proof.listOrphans())).toEqual([]);
  });
};

/** Duties of every warehouse: values of every kind, counts, guards, queries, its own schema. */
export const describeContents = (name: string, useTarget: () => Promise<Target>): void => {
  describe(`${name}: contents`, () => {
    const on = useFixture(useTarget);

    test('text of every kind and length arrives as it was, but for NUL and lone surrogates', async () => {
      const callId = on.newId();
      // The local BigQuery needs seconds for what PostgreSQL does in milliseconds.
      const length = on.target.isEmulated === true ? 5_000 : 20_000;
      const long = Array.from({ length }, (_, index) => `wörd${index}`).join(' ');
      const odd = `a\u0000b \ud800 "quoted" 'single' \\back\\slash \t tab \n line \r\n \u2028 \u{1f600}\u{1f468}\u200d\u{1f469} ünï ${'\u0301'} 中文 \u202e {{projectId}} \\u0000 $1 %s`;
      const clean = odd.replaceAll('\u0000', '\ufffd').replaceAll('\ud800', '\ufffd');
      const [text, arrived] = [odd, clean].map((one) => `${one} ${long}`) as [string, string];
      await on.load({ callId, text, tags: 300, extra: { [`key ${odd}`]: { [odd]: odd } } });
      const words = { value: arrived.split(' ') };
      expect((await on.rows('utterances', callId))[1]).toMatchObject({ content: arrived, words });
      expect((await on.rows('metadata', callId)).find((row) => row.key === 'UDF_text_01')?.value).toBe(arrived);
      expect(await on.rows('tags', callId)).toHaveLength(300);
      expect(JSON.parse((await on.callRow(callId)).extra as string)).toEqual({ [`key ${clean}`]: { [clean]: clean } });
    });

    test('the extreme values of every type come back unchanged', async () => {
      const callId = on.newId();
      const call = makeCall({ callId, utterances: 4 });
      const floats = [5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 0.1 + 0.2];
      const instants = [-62_135_596_800_000_000, 9_007_199_254_740_991, -1, 0];
      const numbers = [`${'9'.repeat(38)}.${'9'.repeat(38)}`, `-0.${'0'.repeat(37)}1`, `1${'0'.repeat(37)}`];
      numbers.push(...'0 -123.45 10000 100000000 0.0001 10000.0001 100000000.00000001 9999.9999'.split(' '));
      const flat = call.flatten();
      const keys = { call_id: callId, call_timestamp: call.callTimestamp };
      const utterances = flat.utterances.map((row, index) => ({ ...row, start_offset: floats[index] }));
      const udfs = numbers.map((value, udf_index) => ({
        ...{ ...keys, kind: 'num', udf_index, value_number: value, value_text: value, unparsable: false },
      }));
      const [processed_at, first_seen_at, last_seen_at, source_deleted_at] = instants;
      const calls = flat.calls.map((row) => ({ ...row, processed_at, first_seen_at, last_seen_at, source_deleted_at }));
      const json = JSON.stringify({ '': [1e-7, 1e21, -0.5, 9_007_199_254_740_991, true, null, [[], {}]], a: '' });
      const tags = [{ ...keys, tag_index: 0, display_name: '', confidence: 1, value: json }];
      const extreme = { ...call, revision: 2_147_483_647, flatten: () => ({ ...flat, calls, utterances, udfs, tags }) };
      await on.warehouse.load(makeBatch({ calls: [extreme] }));
      const row = await on.callRow(callId);
      const times = [row.processed_at, row.first_seen_at, row.last_seen_at, row.source_deleted_at];
      expect(times.map(Number)).toEqual(instants);
      expect(row.revision).toBe(2_147_483_647);
      const read = await on.rows('utterances', callId);
      expect(read.sort(by('utterance_index')).map((item) => item.start_offset)).toEqual(floats);
      expect((await on.rows('udfs', callId)).sort(by('udf_index')).map((item) => item.value_number)).toEqual(numbers);
      const [tag] = await on.rows('tags', callId);
      expect(tag).toMatchObject({ display_name: '', tag_id: null, value_bool: null });
      expect(JSON.parse(tag?.value as string)).toEqual(JSON.parse(json));
    });

    test('log rows are written by key, and the last one of a key stays, also one that names no call any more', async () => {
      const received = Date.parse('2026-01-08T12:00:00Z') * 1000;
      const delivery = (seq: number, outcome: string, call_id?: string) =>
        makeLogRow('deliveries', { seq, delivery_id: '1.5', received_at: received + (seq % 1000), outcome, call_id });
      const big = 9_007_199_254_740_991;
      const verdict = (outcome: string) => makeLogRow('verdicts', { ...verdictValues, outcome });
      const first = {
        deliveries: [delivery(1, 'accepted', 'a-person'), delivery(big, 'duplicate', 'a-person')],
        verdicts: [verdict('healed')],
      };
      const second = { deliveries: [delivery(1, 'repeat')], verdicts: [verdict('proven')] };
      await on.warehouse.load(makeBatch({ logs: first }));
      await on.warehouse.load(makeBatch({ logs: second, calls: [makeCall({ callId: on.newId() })] }));
      const rows = (await allRows(on.warehouse, 'deliveries')).sort(by('seq'));
      const found = rows.map(({ seq, outcome, call_id }) => `${seq} ${outcome} ${call_id}`);
      expect(found).toEqual(['1 repeat null', `${big} duplicate a-person`]);
      expect((await allRows(on.warehouse, 'verdicts')).map((row) => row.outcome)).toEqual(['proven']);
    });

    test('counts agree with the rows, the words among them', async () => {
      const counts = await countRows(on.warehouse, true);
      for (const table of ['calls', 'deliveries', 'verdicts', ...children] as const)
        expect(Number(counts[table])).toBe((await allRows(on.warehouse, table)).length);
      const said = await allRows(on.warehouse, 'utterances');
      expect(Number(counts.words)).toBe(said.flatMap((row) => (row.words as { value: unknown[] }).value).length);
    });

    test('guards are listed by time and by id, with the children that are really there', async () => {
      const callIds = [on.newId(), on.newId(), on.newId()];
      const calls = callIds.map((callId, index) =>
        makeCall({ callId, timestamp: `2027-03-0${index + 1}T00:00:00Z`, utterances: index, tags: 2 }),
      );
      await on.warehouse.load(makeBatch({ calls }));
      const list = (range: Parameters<Warehouse['proof']['listGuards']>[0]) =>
        collect(on.warehouse.proof.listGuards(range));
      const from = Date.parse('2027-03-01T00:00:00Z') * 1000;
      const to = Date.parse('2027-03-03T00:00:00Z') * 1000;
      const inRange = await list({ from, to });
      expect(inRange.map((guard) => guard.callId)).toEqual(callIds.slice(0, 2));
      const guard = { epoch: 1, revision: 1, flattenVersion: 1, childRows: { utterances: 1, tags: 2 } };
      expect(inRange[1]).toMatchObject(guard);
      expect(Number(inRange[0]?.callTimestamp)).toBe(from);
      expect((await list({ from: from + 1, to: to + 1 })).map((guard) => guard.callId)).toEqual(callIds.slice(1));
      const byId = await list({ callIds: [callIds[2] as string, 'nobody', callIds[0] as string] });
      expect(byId.map((guard) => guard.callId)).toEqual([callIds[0], callIds[2]]);
    });

    testDigests(on);

    test('the state of the sync is one row, and an older heartbeat does not replace a newer one', async () => {
      const record = (heartbeat: number, pending: number, axis: string | null) =>
        on.warehouse.recordState({
          ...{ warehouse: 'w', watermark: 1_000_000, proven_axis: axis, proven_through: 2_000_000, pending },
          ...{ ledger_epoch: 1, heartbeat_at: heartbeat },
        });
      await record(10_000_000, 3, null);
      await record(20_000_000, 4, "a'x");
      await record(15_000_000, 5, null);
      const rows = await on.warehouse.query('SELECT * FROM sync_state');
      expect(rows).toHaveLength(1);
      expect(rows[0]).toMatchObject({ warehouse: 'w', proven_axis: "a'x", newest_call: null, last_error: null });
      expect(Number(rows[0]?.pending)).toBe(4);
      expect((await countRows(on.warehouse)).sync_state).toBe(1);
    });

    test('only reading queries run', async () => {
      await expect(on.warehouse.query('DELETE FROM calls WHERE TRUE')).rejects.toThrow();
      // BigQuery only tries a script, and refuses it; the local one runs what it should try.
      if (on.target.isEmulated !== true)
        await expect(on.warehouse.query('COMMIT; DELETE FROM calls WHERE TRUE')).rejects.toThrow();
      const [row] = await on.warehouse.query('SELECT COUNT(*) AS n FROM calls');
      expect(Number(row?.n)).toBeGreaterThan(0);
    });

    test('migrating again changes nothing', async () => {
      const before = await countRows(on.warehouse);
      await on.warehouse.migrate();
      await on.target.open().migrate();
      expect(await countRows(on.warehouse)).toEqual(before);
    });

    test('columns and tables of a newer version are added to the present ones, and filled from then on', async () => {
      await on.target.dropColumn('calls', 'dept');
      await on.target.execute('DROP TABLE redactions');
      await on.target.execute('DROP TABLE changes');
      await on.warehouse.migrate();
      const callId = on.newId();
      await on.load({ callId, extra: { metadata: { Dept: 'sales' } } }, { epoch: 2 });
      expect(await on.callRow(callId)).toMatchObject({ dept: 'sales' });
      expect(await on.rows('redactions', callId)).toHaveLength(2);
      expect(await on.warehouse.query('SELECT call_id FROM changes')).toEqual([{ call_id: callId }]);
    });
  });
};

const by = (name: string) => (a: Record<string, unknown>, b: typeof a) => Number(a[name]) - Number(b[name]);
