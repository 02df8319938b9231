import { expect, test } from 'vitest';
import { datesOf, dedupeBatch, splitByPartitions } from '../../../src/warehouse/bigquery/dedupe-batch.ts';
import { makeBatch, makeCall, makeLogRow, makeTombstone } from '../batches.ts';

test('of several entries for a call the highest revision stays, and a tombstone before any', () => {
  const calls = [3, 1, 2].map((revision) => makeCall({ callId: 'a', revision }));
  const erased = makeCall({ callId: 'b', revision: 9 });
  const deduped = dedupeBatch(makeBatch({ calls: [...calls, erased], tombstones: [makeTombstone('b', 1, [])] }));
  expect(deduped.calls.map(({ callId, revision }) => [callId, revision])).toEqual([['a', 3]]);
  expect(deduped.tombstones).toHaveLength(1);
});

test('the dates of a call are those it had and the one it has', () => {
  const call = makeCall({ callId: 'a', timestamp: '2026-01-02T00:00:00Z', partitions: ['2026-01-01', null] });
  expect(datesOf(call)).toEqual(['2026-01-01', null, '2026-01-02']);
});

test('a batch of more partitions than one job may touch is cut, log rows with the last part', () => {
  const calls = Array.from({ length: 40 }, (_, index) =>
    makeCall({
      callId: `c-${index}`,
      timestamp: new Date(Date.UTC(2026, 0, 1 + ((index * 7) % 40))).toISOString(),
    }),
  );
  const deliveries = [makeLogRow('deliveries', { seq: 1 })];
  const tombstones = [makeTombstone('gone', 2, ['2026-01-05', '2020-01-01'])];
  const parts = splitByPartitions(makeBatch({ calls, tombstones, logs: { deliveries } }), 8);
  expect(parts.length).toBeGreaterThan(4);
  for (const part of parts) {
    expect(new Set([...part.calls, ...part.tombstones].flatMap(datesOf)).size).toBeLessThanOrEqual(8);
  }
  expect(parts.flatMap((part) => part.calls.map(({ callId }) => callId)).sort()).toEqual(
    calls.map(({ callId }) => callId).sort(),
  );
  expect(parts.flatMap((part) => part.tombstones)).toHaveLength(1);
  expect(parts.map((part) => part.logs.deliveries?.length ?? 0)).toEqual([...parts.slice(1).map(() => 0), 1]);
});
