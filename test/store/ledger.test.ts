/** The fold through the real database: random batches, crashes of no kind left out by the pure tests. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { emptyRow, fold, type LedgerRow, prepareObservation } from '../../src/calls/fold.ts';
import { ingest, loadFolded } from '../../src/pipeline/load/ingest.ts';
import { eraseFromLedger, foldIntoLedger, readHeads, readRows } from '../../src/store/ledger/ledger.ts';
import { markPending } from '../../src/store/loads/loads.ts';
import { observationsInOrders } from '../calls/observations.ts';
import { expectedDocument } from '../calls/winner.ts';
import { observationOf, usePipeline } from '../support/pipeline.ts';

const pipeline = usePipeline({ documents: true });

const ids = ['a', 'b', 'c'];

/** Arrivals of several calls, cut into batches at random. */
const batches = fc
  .tuple(...ids.map((id) => observationsInOrders(id)), fc.infiniteStream(fc.integer({ min: 1, max: 6 })))
  .map((made) => {
    const sizes = made.at(-1) as Iterator<number>;
    const calls = made.slice(0, -1) as { observations: Observation[]; arrivals: Observation[][] }[];
    const orders = [0, 1].map((order) => {
      const mixed = calls.flatMap((call) => call.arrivals[order] ?? []);
      const cut: Observation[][] = [];
      for (let at = 0; at < mixed.length; ) {
        const size = sizes.next().value as number;
        cut.push(mixed.slice(at, at + size));
        at += size;
      }
      return cut;
    });
    return { observations: calls.map((call) => call.observations), orders };
  });

const sentDigests = async (): Promise<Record<string, string[]>> => {
  const rows: Record<string, string[]> = {};
  for (const name of ['utterances', 'words', 'tags', 'metadata', 'udfs', 'contacts'] as const) {
    rows[name] = [];
    for await (const row of pipeline.warehouse.rowsOf(name)) rows[name].push(JSON.stringify(row));
    rows[name].sort();
  }
  // The last observation that changed the call depends on the order of arrival, and the content hash covers its time.
  const calls = await pipeline.warehouse.query(
    `SELECT to_jsonb(c) - '{revision,load_id,last_seen_at,content_hash}'::text[] AS row FROM wh_main.calls c ORDER BY call_id`,
  );
  return { ...rows, calls: calls.map((row) => JSON.stringify(row.row)) };
};

test('any order, any number, any batches: one document, one set of versions, one set of rows', async () => {
  await fc.assert(
    fc.asyncProperty(batches, async ({ observations, orders }) => {
      const ends: unknown[] = [];
      for (const order of orders) {
        await pipeline.clear();
        for (const observations of order) {
          const folded = await ingest(pipeline.deps, { observations, rejected: [], origin: 'test' });
          await loadFolded(pipeline.deps, folded);
        }
        const rows = await readRows(pipeline.store, ids);
        for (const [index, id] of ids.entries()) {
          expect(rows.get(id)?.document).toEqual(expectedDocument(observations[index] ?? []));
        }
        const heads = [...rows.values()].map(({ callId, versions, firstSeenAt, lastSeenAt, seenBy }) => ({
          callId,
          versions,
          firstSeenAt,
          lastSeenAt,
          seenBy,
        }));
        const times = await pipeline.warehouse.query('SELECT call_id, last_seen_at FROM calls');
        for (const { call_id: id, last_seen_at: changedAt } of times) {
          const { firstSeenAt, lastSeenAt } = rows.get(id as string) ?? {};
          expect((changedAt as Date).getTime()).toBeGreaterThanOrEqual(Math.floor((firstSeenAt ?? 0) / 1000));
          expect((changedAt as Date).getTime()).toBeLessThanOrEqual(Math.ceil((lastSeenAt ?? 0) / 1000));
        }
        expect(pipeline.logged).toEqual([]);
        expect(await pipeline.drain()).toEqual({ sent: 0, changed: 0 });
        ends.push({ heads: heads.sort((a, b) => (a.callId < b.callId ? -1 : 1)), sent: await sentDigests() });
      }
      expect(ends[1]).toEqual(ends[0]);
    }),
    { numRuns: 8, endOnFailure: true },
  );
}, 300_000);

const rules = { processedField: 'qualified', tombstoned: new Set<string>() };
const foldAll = (observations: readonly Observation[], of = pipeline) =>
  of.store.transaction((tx) => foldIntoLedger(tx, observations.map(prepareObservation), rules));

describe('a row', () => {
  test('comes back as it was folded, to the microsecond', async () => {
    const at = 1_701_703_109_123_456;
    const observations = [
      observationOf(
        'x',
        at,
        { timestamp: '2023-12-04T15:18:29.123456+02:00', qualified: '2023-12-05T00:00:00Z', n: 1 },
        'webhook',
      ),
      observationOf('x', at + 1, { n: 2, constructor: 'field', 'a\0': null }, 'poll'),
      observationOf('x', at - 1, { old: true }, 'import'),
    ];
    const expected = observations.map(prepareObservation).reduce(fold, emptyRow('x'));
    const { changed } = await foldAll(observations);
    expect(changed).toEqual([expected]);
    const read = (await readRows(pipeline.store, ['x'])).get('x') as LedgerRow;
    expect(read).toEqual({ ...expected, json: {} });
    const { rows } = await pipeline.store.pool.query('SELECT call_timestamp, processed_at FROM ledger');
    expect(rows).toEqual([
      { call_timestamp: new Date('2023-12-04T13:18:29.123Z'), processed_at: new Date('2023-12-05T00:00:00Z') },
    ]);
  });

  test('of which nothing changed is not written again: document and revision stay', async () => {
    const one = observationOf('x', 1, { n: 1 });
    await foldAll([one]);
    const { rows: before } = await pipeline.store.pool.query('SELECT xmin FROM ledger_documents');
    const again = await foldAll([one, observationOf('x', 5, { n: 1 }), observationOf('x', 3, { n: 2 })]);
    expect(again).toMatchObject({ changed: [], unchanged: 1 });
    expect((await pipeline.store.pool.query('SELECT xmin FROM ledger_documents')).rows).toEqual(before);
    expect((await readHeads(pipeline.store, ['x'])).get('x')).toMatchObject({
      revision: 1,
      lastSeenAt: 5,
      document: null,
    });
  });

  test('erased, known or not, stays a tombstone without a document', async () => {
    await foldAll([observationOf('known', 1, { n: 1 })]);
    const erased = await pipeline.store.transaction((tx) => eraseFromLedger(tx, ['known', 'unknown']));
    expect(erased.map((row) => [row.callId, row.revision, row.tombstone]).sort()).toEqual([
      ['known', 2, true],
      ['unknown', 1, true],
    ]);
    expect(await foldAll([observationOf('known', 9, { n: 2 }), observationOf('unknown', 9)])).toMatchObject({
      changed: [],
      unchanged: 2,
    });
    expect((await pipeline.store.pool.query('SELECT count(*) AS n FROM ledger_documents')).rows).toEqual([{ n: 0 }]);
    expect(await pipeline.store.transaction((tx) => eraseFromLedger(tx, ['known']))).toEqual([]);
  });
});

test('overlapping batches from many sides neither deadlock nor lose anything', async () => {
  const calls = Array.from({ length: 40 }, (_, n) => `call-${n}`);
  const folds = new Map<string, number>();
  const expected = new Map<string, Record<string, number>>();
  const side = async (name: number): Promise<void> => {
    for (let round = 0; round < 12; round += 1) {
      // Each side in an order of its own, known and unknown calls mixed.
      const order = calls
        .map((id, n) => [(n * 7919 * name + round * 104_729) % 40, id] as const)
        .sort((a, b) => a[0] - b[0]);
      const chosen = order.slice(0, 10 + round * 2).map(([, id]) => id);
      await pipeline.store.transaction(async (tx) => {
        const observations = chosen.map((id) => observationOf(id, name * 100 + round, { [`f${name}`]: round }));
        const { changed } = await foldIntoLedger(tx, observations.map(prepareObservation), rules);
        const ids = changed.map((row) => row.callId);
        await markPending(tx, ids);
      });
      for (const id of chosen) {
        folds.set(id, (folds.get(id) ?? 0) + 1);
        expected.set(id, { ...expected.get(id), [`f${name}`]: round });
      }
    }
  };
  await Promise.all([1, 2, 3, 4, 5, 6].map(side));
  const rows = await readRows(pipeline.store, calls);
  expect(rows.size).toBe(expected.size);
  for (const [id, fields] of expected) {
    expect(rows.get(id)?.document).toEqual({ unique_id: id, ...fields });
    expect(rows.get(id)?.revision).toBe(folds.get(id));
  }
});

test('calls that nobody knew, met by many at once in any order, do not deadlock', async () => {
  for (let round = 0; round < 3; round += 1) {
    const calls = Array.from({ length: 1_500 }, (_, n) => `new-${round}-${n}`);
    const orders = [calls, [...calls].reverse(), [...calls].sort(), [...calls].sort().reverse()];
    const folded = await Promise.all(orders.map((order) => foldAll(order.map((id) => observationOf(id, 1)))));
    expect(folded.reduce((sum, one) => sum + one.changed.length, 0)).toBe(1_500);
  }
});
