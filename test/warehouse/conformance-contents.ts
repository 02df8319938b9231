/** Duties of every warehouse: values of every kind, counts, guards, queries, its own schema. */

import { describe, expect, test } from 'vitest';
import { countRows } from '../../src/warehouse/digest.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { allRows, children, makeBatch, makeCall, makeLogRow } from './batches.ts';
import { testDigests } from './conformance-digests.ts';
import { useFixture } from './conformance-fixture.ts';
import type { Target } from './conformance-targets.ts';

const verdictValues = {
  ...{ verdict_id: 1, axis: 'call', window_from: 0, window_to: 86_400_000_000, level: 'ids', confirmed: 'total' },
  ...{ calls_listed: 5, calls_found: 5, missing: 0, different: 0, healed: 0, compared_at: 1, digest: 'd1' },
};
export const describeContents = (name: string, useTarget: () => Promise<Target>): void => {
  describe(`${name}: contents`, () => {
    const on = useFixture(useTarget);

    test('text of every kind arrives as it was, but for NUL and lone surrogates', async () => {
      const callId = on.newId();
      const odd = `a\u0000b \ud800 "quoted" 'single' \\back\\slash \t tab \n line \r\n \u2028 \u{1f600}\u{1f468}\u200d\u{1f469} ünï ${'\u0301'} 中文 \u202e {{projectId}} \\u0000 $1 %s`;
      const clean = odd.replaceAll('\u0000', '\ufffd').replaceAll('\ud800', '\ufffd');
      await on.load({ callId, text: odd, extra: { [`key ${odd}`]: { [odd]: odd } } });
      expect((await on.rows('utterances', callId))[0]?.content).toBe(clean);
      expect((await on.rows('utterances', callId))[0]?.words).toMatchObject({ value: clean.split(' ') });
      expect((await on.rows('metadata', callId)).find((row) => row.key === 'UDF_text_01')?.value).toBe(clean);
      const row = await on.callRow(callId);
      expect(JSON.parse(row.extra as string)).toEqual({ [`key ${clean}`]: { [clean]: clean } });
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
      const rows = (await allRows(on.warehouse, 'deliveries')).map((row) => [
        Number(row.seq),
        row.outcome,
        row.call_id,
      ]);
      const expected = [
        [1, 'repeat', null],
        [big, 'duplicate', 'a-person'],
      ];
      expect(rows.sort((a, b) => (a[0] as number) - (b[0] as number))).toEqual(expected);
      expect((await allRows(on.warehouse, 'verdicts')).map((row) => row.outcome)).toEqual(['proven']);
    });

    test('log rows go once they are older than their time, and loads stay that the store may ask for', async () => {
      const day = 86_400_000;
      const at = (days: number) => (Date.now() - days * day) * 1000;
      const deliveries = [8, 12].map((days) =>
        makeLogRow('deliveries', { seq: 800 + days, received_at: at(days), outcome: 'accepted' }),
      );
      const verdicts = [18, 22].map((days) => {
        const aged = { digest: `aged ${days}`, compared_at: at(days), outcome: 'proven' };
        return makeLogRow('verdicts', { ...verdictValues, ...aged });
      });
      await on.warehouse.load(makeBatch({ logs: { deliveries, verdicts } }));
      const loads = (await countRows(on.warehouse)).loads;
      await on.warehouse.expireLogs({ deliveries: 10 * day, loads: -day, verdicts: 20 * day });
      const recent = async (table: 'deliveries' | 'verdicts', column: string) =>
        (await allRows(on.warehouse, table)).map((row) => row[column]);
      expect((await recent('deliveries', 'seq')).map(Number)).toEqual([808]);
      expect(await recent('verdicts', 'digest')).toEqual(['aged 18']);
      expect((await countRows(on.warehouse)).loads).toBe(loads);
    });

    test('loads say what they sent and changed', async () => {
      const callId = on.newId();
      const batch = makeBatch({ calls: [makeCall({ callId }), makeCall({ callId: on.newId() })], origin: 'inbox' });
      await on.warehouse.load(batch);
      const [row] = await on.warehouse.query(
        `SELECT origin, calls_sent, calls_changed FROM loads WHERE load_id = '${batch.loadId}'`,
      );
      expect(row && Object.values(row).map(String)).toEqual(['inbox', '2', '2']);
    });

    test('counts agree with the rows, the words among them', async () => {
      const counts = await countRows(on.warehouse, true);
      for (const table of ['calls', 'deliveries', 'verdicts', ...children] as const)
        expect(Number(counts[table])).toBe((await allRows(on.warehouse, table)).length);
      const words = (await allRows(on.warehouse, 'utterances')).map(
        (row) => (row.words as { value: unknown[] }).value.length,
      );
      expect(Number(counts.words)).toBe(words.reduce((sum, count) => sum + count, 0));
    });

    test('guards are listed by time and by id, with the children that are really there', async () => {
      const callIds = [on.newId(), on.newId(), on.newId()];
      const calls = callIds.map((callId, index) =>
        makeCall({ callId, timestamp: `2027-03-0${index + 1}T00:00:00Z`, utterances: index, tags: 2 }),
      );
      await on.warehouse.load(makeBatch({ calls }));
      const list = async (range: Parameters<Warehouse['listGuards']>[0]) => {
        const guards = [];
        for await (const guard of on.warehouse.listGuards(range)) guards.push(guard);
        return guards;
      };
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

    test('long text, many words and a deep document arrive whole', async () => {
      const callId = on.newId();
      // The local BigQuery needs seconds for what PostgreSQL does in milliseconds.
      const length = on.target.isEmulated === true ? 5_000 : 20_000;
      const text = Array.from({ length }, (_, index) => `wörd${index}`).join(' ');
      await on.load({ callId, text, utterances: 2, tags: 300 });
      const utterances = await on.rows('utterances', callId);
      expect(utterances[1]?.content).toBe(text);
      expect(utterances[1]?.words).toMatchObject({ value: text.split(' ') });
      expect(await on.rows('tags', callId)).toHaveLength(300);
    });

    test('columns and tables that a newer version defines are added to those that stand, and filled from then on', async () => {
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

const by =
  (name: string) =>
  (a: Record<string, unknown>, b: Record<string, unknown>): number =>
    Number(a[name]) - Number(b[name]);
