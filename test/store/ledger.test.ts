import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { emptyRow, fold, prepareObservation } from '../../src/calls/fold.ts';
import { foldIntoLedger, readHeads } from '../../src/store/ledger/ledger.ts';
import { readExpected } from '../../src/store/ledger/read-ledger.ts';
import { observationOf, usePipeline } from '../support/pipeline.ts';

const pipeline = usePipeline({ documents: true });

const rules = { processedField: 'qualified', tombstoned: new Set<string>() };
const written = () => pipeline.query('SELECT xmin FROM ledger_documents');
const foldAll = (observations: readonly Observation[], of = pipeline) =>
  of.store.transaction((tx) => foldIntoLedger(tx, observations.map(prepareObservation), rules));

describe('a row', () => {
  test('comes back as it was folded, to the microsecond', async () => {
    const at = 1_701_703_109_123_456;
    const times = { timestamp: '2023-12-04T15:18:29.123456+02:00', qualified: '2023-12-05T00:00:00Z', n: 1 };
    const observations = [
      observationOf('x', at, times, 'webhook'),
      observationOf('x', at + 1, { n: 2, constructor: 'field', 'a\0': null }, 'poll'),
      observationOf('x', at - 1, { old: true }, 'import'),
    ];
    const expected = observations.map(prepareObservation).reduce(fold, emptyRow('x'));
    const { changed } = await foldAll(observations);
    expect(changed).toEqual([expected]);
    expect(await pipeline.rowOf('x')).toEqual({ ...expected, json: {} });
    expect(await pipeline.query('SELECT call_timestamp, processed_at FROM ledger')).toEqual([
      { call_timestamp: new Date('2023-12-04T13:18:29.123Z'), processed_at: new Date('2023-12-05T00:00:00Z') },
    ]);
  });

  test('of which nothing changed is not written again: document and revision stay', async () => {
    const one = observationOf('x', 1, { n: 1 });
    await foldAll([one]);
    const before = await written();
    const again = await foldAll([one, observationOf('x', 5, { n: 1 }), observationOf('x', 3, { n: 2 })]);
    expect(again).toMatchObject({ changed: [], unchanged: 1 });
    expect(await written()).toEqual(before);
    const head = (await readHeads(pipeline.store, ['x'])).get('x');
    expect(head).toMatchObject({ revision: 1, lastSeenAt: 5, document: null });
  });
});

test('calls that nobody knew, met by many at once in any order, do not deadlock', async () => {
  for (let round = 0; round < 3; round += 1) {
    const calls = Array.from({ length: 1_500 }, (_, n) => `new-${round}-${n}`);
    const orders = [calls, [...calls].reverse(), [...calls].sort(), [...calls].sort().reverse()];
    const folded = await Promise.all(orders.map((order) => foldAll(order.map((id) => observationOf(id, 1)))));
    expect(folded.reduce((sum, one) => sum + one.changed.length, 0)).toBe(1_500);
  }
});

test('long documents to compare are in memory a few at a time, each once', async () => {
  const ids = Array.from({ length: 8 }, (_, n) => `c${n}`);
  await foldAll(ids.map((id) => observationOf(id, 1, { text: randomBytes(2_000_000).toString('hex') })));
  const batches: string[][] = [];
  for await (const batch of readExpected(pipeline.store, 'main', ids)) batches.push(batch.map(({ row }) => row.callId));
  expect(Math.max(...batches.map(({ length }) => length))).toBeLessThan(5);
  expect(batches.flat().sort()).toEqual(ids);
});
