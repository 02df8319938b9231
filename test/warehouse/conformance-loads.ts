/** Duties of every warehouse for loads: effectively once, by guard, never past a tombstone. */

import { describe, expect, test } from 'vitest';
import { flattenChanges } from '../../src/calls/flatten.ts';
import { emptyRow, fold, type LedgerRow, prepareObservation } from '../../src/calls/fold.ts';
import { JsonRecord } from '../../src/lib/json-record.ts';
import { countRows } from '../../src/warehouse/content-hash.ts';
import { allRows, keyOf, makeBatch, makeCall, makeLogRow, makeTombstone } from './batches.ts';
import { useFixture } from './conformance-fixture.ts';
import type { Target } from './conformance-targets.ts';

const day = (n: number): string => `2026-01-0${n}`;
const at = (n: number): string => `${day(n)}T10:00:00.123456Z`;

export const describeLoads = (name: string, useTarget: () => Promise<Target>): void => {
  describe(`${name}: loads`, () => {
    const on = useFixture(useTarget);

    test('the same load twice leaves every row as it was; its row says what it sent and changed', async () => {
      const callIds = [on.newId(), on.newId()] as const;
      const calls = callIds.map((callId, index) => makeCall({ callId, utterances: 2 + index }));
      const batch = makeBatch({ calls, origin: 'inbox' });
      await on.warehouse.load(batch);
      const figures = 'SELECT origin, calls_sent, calls_changed FROM loads';
      const [row] = await on.warehouse.query(`${figures} WHERE load_id = '${batch.loadId}'`);
      expect(row && Object.values(row).map(String)).toEqual(['inbox', '2', '2']);
      const before = await on.digests(...callIds);
      await on.warehouse.load(batch);
      const again = { ...batch, loadId: `${batch.loadId}_again` };
      expect(await on.warehouse.load(again)).toMatchObject({ changed: 0, unchanged: 2 });
      expect(await on.digests(...callIds)).toEqual(before);
    });

    test('loads at once, from clients that share nothing, write each call once', async () => {
      const callIds = [on.newId(), on.newId(), on.newId()];
      const [other, third] = [on.target.open(), on.target.open()];
      const calls = callIds.map((callId) => makeCall({ callId }));
      const newer = callIds.map((callId) => makeCall({ callId, revision: 2, utterances: 4, partitions: [day(5)] }));
      const same = makeBatch({ calls });
      await Promise.all([
        on.warehouse.load(same),
        other.load(same),
        third.load(makeBatch({ calls: newer })),
        other.load(makeBatch({ calls })),
      ]);
      for (const callId of callIds) {
        expect((await on.callRow(callId)).revision).toBe(2);
        expect(await on.childRows(callId)).toMatchObject({ utterances: 4, tags: 1 });
      }
    });

    test('an older load changes nothing either when the call has moved to a day that it does not know', async () => {
      const callId = on.newId();
      await on.load({ callId, revision: 1, timestamp: at(1) });
      await on.load({ callId, revision: 2, timestamp: at(2), partitions: [day(1)] });
      expect(await on.changed({ callId, revision: 1, timestamp: at(1) })).toBe(0);
      expect((await on.callRow(callId)).revision).toBe(2);
      expect(await on.rows('utterances', callId)).toHaveLength(2);
    });

    test('a newer flatten version wins over the same revision, an older one does not', async () => {
      const callId = on.newId();
      await on.load({ callId, status: 'old' }, { flattenVersion: 2 });
      expect(await on.changed({ callId, status: 'new', partitions: [day(5)] }, { flattenVersion: 3 })).toBe(1);
      expect(await on.changed({ callId, status: 'older', partitions: [day(5)] }, { flattenVersion: 1 })).toBe(0);
      expect(await on.callRow(callId)).toMatchObject({ status: 'new', flatten_version: 3 });
    });

    test('with force an equal guard is rewritten, and what was lost comes back; a lower one still loses', async () => {
      const callId = on.newId();
      await on.load({ callId, revision: 2, tags: 0 });
      expect(await on.changed({ callId, revision: 2, tags: 3, partitions: [day(5)] })).toBe(0);
      expect(await on.changed({ callId, revision: 2, tags: 3, partitions: [day(5)] }, { force: true })).toBe(1);
      expect(await on.rows('tags', callId)).toHaveLength(3);
      expect(await on.changed({ callId, revision: 1, partitions: [day(5)] }, { force: true })).toBe(0);
    });

    test('a call whose timestamp moves to another day, becomes null and comes back leaves no copy behind', async () => {
      const callId = on.newId();
      const sent: (string | null)[] = [];
      const steps: (number | null)[] = [3, 4, null, 3];
      for (const [index, step] of steps.entries()) {
        const timestamp = step === null ? null : at(step);
        expect(await on.changed({ callId, revision: index + 1, timestamp, partitions: [...sent] })).toBe(1);
        sent.push(step === null ? null : day(step));
        const row = await on.callRow(callId);
        expect(row.call_timestamp === null).toBe(step === null);
        const [utterance, ...others] = await on.rows('utterances', callId);
        expect(others).toHaveLength(1);
        expect(utterance?.call_timestamp).toEqual(row.call_timestamp);
      }
      expect(await on.childRows(callId)).toMatchObject({ utterances: 2, tags: 1 });
    });

    test('a tombstone takes all rows away, also of a higher revision, and no load brings them back', async () => {
      const [callId, kept, unseen] = [on.newId(), on.newId(), on.newId()];
      await on.load({ callId, revision: 3 });
      await on.load({ callId: kept });
      const tombstones = [makeTombstone(callId, 2, [day(5)]), makeTombstone(unseen, 1, [])];
      expect(await on.warehouse.load(makeBatch({ tombstones }))).toMatchObject({ changed: 2, unchanged: 0 });
      expect(await on.warehouse.load(makeBatch({ tombstones }))).toMatchObject({ changed: 0, unchanged: 2 });
      const before = await on.digests(callId, kept, unseen);
      for (const id of [callId, unseen])
        for (const revision of [3, 99]) expect(await on.changed({ callId: id, revision, timestamp: at(6) })).toBe(0);
      expect(await on.digests(callId, kept, unseen)).toEqual(before);
      expect(before.map((one) => one.callId)).toEqual([kept]);
      const logged = await on.warehouse.query(`SELECT call_id FROM changes WHERE call_id IN ('${callId}', '${kept}')`);
      expect(logged).toEqual([{ call_id: kept }]);
      expect(await on.warehouse.proof.rowsLeft([callId])).toBe(0);
      expect(await on.warehouse.proof.rowsLeft([kept], [day(5), null])).toBeGreaterThan(2);
    });

    test('a tombstone takes the id of its call from deliveries, also from those that no ledger knows any more', async () => {
      const [callId, kept] = [on.newId(), on.newId()];
      const delivery = { received_at: Date.parse(at(5)) * 1000, outcome: 'accepted' };
      const arrivals = new Map([callId, kept, callId].map((call_id, index) => [`${call_id}-${index}`, call_id]));
      const rows = [...arrivals].map(([arrival_id, call_id], index) =>
        makeLogRow('deliveries', { ...delivery, seq: 900 + index, arrival_id, call_id }),
      );
      await on.warehouse.load(makeBatch({ logs: { deliveries: rows } }));
      await on.warehouse.load(makeBatch({ tombstones: [makeTombstone(callId, 1, [])] }));
      const stored = await allRows(on.warehouse, 'deliveries');
      const named = stored.filter(({ arrival_id }) => arrivals.has(String(arrival_id)));
      const erased = new Map([[callId, `erased:${keyOf(callId)}`]]);
      const expected = [...arrivals].map(([arrival, id]) => [arrival, erased.get(id) ?? kept]);
      expect(named.map(({ arrival_id, call_id }) => [arrival_id, call_id]).sort()).toEqual(expected.sort());
    });

    test('changes: a row for the first revision, then one a field, each once, by the load that brings it', async () => {
      const callId = on.newId();
      const see = (row: LedgerRow, source: 'poll' | 'webhook', second: number, fields: Record<string, unknown>) =>
        fold(
          row,
          prepareObservation({ callId, source, observedAt: second * 1_000_000, fields: new JsonRecord(fields) }),
        );
      const polled = see({ ...emptyRow, callId }, 'poll', 100, { status: 'new', tags: [], note: 'a secret value' });
      const changed = see(polled, 'webhook', 200, { status: 'a secret value', tags: [] });
      const confirmed = see(changed, 'poll', 300, { status: 'a secret value', tags: [], note: 'a secret value' });
      const last = see(confirmed, 'webhook', 400, { status: 'other', tags: [1], note: 'b' });
      const load = (row: LedgerRow, date: number, partitions: readonly string[], over = {}) => {
        const call = makeCall({ callId, revision: row.revision, timestamp: at(date), partitions });
        const calls = [{ ...call, changes: flattenChanges(row, call.callTimestamp) }];
        return on.warehouse.load(makeBatch({ calls, ...over }));
      };
      const logged = async () => {
        const rows = await on.warehouse.query(`SELECT * FROM changes WHERE call_id = '${callId}'`);
        expect(JSON.stringify(rows)).not.toContain('secret');
        return rows
          .map(({ field, revision, source, observed_at, call_timestamp }) => {
            const [seen, dated] = [observed_at, call_timestamp].map((time) => new Date(time as string));
            return [Number(revision), field, source, Number(seen) / 1000, dated?.getUTCDate()];
          })
          .sort();
      };
      const first = [1, '*', 'poll', 100, 5];
      const second = [2, 'status', 'webhook', 200, 5];
      expect(await load(polled, 5, [])).toMatchObject({ changed: 1 });
      expect(await logged()).toEqual([first]);
      await load(changed, 5, [day(5)]);
      expect(await logged()).toEqual([first, second]);
      // Late, and written again with what a re-reading confirmed, which makes no revision.
      expect(confirmed.revision).toBe(changed.revision);
      await load(polled, 5, [day(5)]);
      await load(confirmed, 5, [day(5)], { force: true });
      expect(await logged()).toEqual([first, second]);
      // Moved to another day; what is there already is not written again under the new one.
      await load(last, 6, [day(5)]);
      const third = ['note', 'status', 'tags'].map((field) => [3, field, 'webhook', 400, 6]);
      expect(await logged()).toEqual([first, second, ...third]);
      await on.warehouse.load(makeBatch({ tombstones: [makeTombstone(callId, 4, [day(6)])] }));
      expect(await logged()).toEqual([]);
    });

    test('an empty batch does nothing at all', async () => {
      const before = await countRows(on.warehouse);
      expect(await on.warehouse.load(makeBatch({}))).toMatchObject({ changed: 0, unchanged: 0 });
      const after = await countRows(on.warehouse);
      expect({ ...after, loads: before.loads }).toEqual(before);
      expect(Number(after.loads) - Number(before.loads)).toBeLessThanOrEqual(1);
    });

    test('a batch that names a call twice is refused whole or folded to the highest revision', async () => {
      const callId = on.newId();
      const calls = ['first', 'second'].map((status, n) => makeCall({ callId, revision: n + 1, status })).reverse();
      const folded = await on.warehouse.load(makeBatch({ calls })).then(Boolean, () => false);
      expect((await on.rows('calls', callId)).map((row) => row.status)).toEqual(folded ? ['second'] : []);
    });

    // The last ones change what the others rely on.
    test('a newer epoch wins with a lower revision, also where its ledger does not know what stands', async () => {
      const [callId, moved] = [on.newId(), on.newId()];
      await on.load({ callId, revision: 8, status: 'before', timestamp: at(1) });
      await on.load({ callId: moved, revision: 7, timestamp: at(2) });
      await on.load({ callId: moved, revision: 8, timestamp: at(1), partitions: [day(2)] });
      const restored = { epoch: 2 };
      expect(await on.changed({ callId, revision: 1, status: 'after', timestamp: at(1) }, restored)).toBe(1);
      // The restored ledger knows the day from which it moved.
      const back = { callId: moved, revision: 1, timestamp: at(2), partitions: [day(2)], tags: 2 };
      expect(await on.changed(back, restored)).toBe(1);
      expect(await on.callRow(callId)).toMatchObject({ status: 'after', revision: 1, ledger_epoch: 2 });
      expect(await on.callRow(moved)).toMatchObject({ revision: 1 });
      expect(await on.rows('tags', moved)).toHaveLength(2);
      expect(await on.changed({ callId, revision: 9, status: 'late', timestamp: at(1) })).toBe(0);
      expect(await on.callRow(callId)).toMatchObject({ status: 'after' });
      // A load that knows neither day finds what the one before it wrote.
      expect(await on.changed({ callId: moved, revision: 1, timestamp: at(3) }, restored)).toBe(0);
      expect(await on.callRow(moved)).toMatchObject({ revision: 1 });
    });
  });
};
