/** Changes of a call's fields by revision, from the marks of fold, in any number of observations. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Observation } from '../../schemas/observation.ts';
import { tableOf } from '../../schemas/tables.ts';
import { flattenChanges } from '../../src/calls/flatten.ts';
import { emptyRow, fold, foldErasure, foldRules, type LedgerRow, prepareObservation } from '../../src/calls/fold.ts';
import { observationOf } from '../support/pipeline.ts';
import { observationsInOrders } from './observations.ts';

const foldAll = (...observations: readonly Observation[]): LedgerRow =>
  observations.map(prepareObservation).reduce(fold, emptyRow('c'));
const changesOf = (row: LedgerRow) => flattenChanges(row, 7);

test('a change says whether the field was added, changed or removed; null is as good as absent', () => {
  const row = foldAll(
    observationOf('c', 10, { status: 'a', lang: 'fr', agent: null }),
    observationOf('c', 20, { status: 'b', lang: null, agent: 'x', tags: [] }),
  );
  expect(Object.fromEntries(changesOf(row).map(({ field, kind }) => [field, kind]))).toEqual({
    ...{ '*': 'added', status: 'changed', lang: 'removed', agent: 'added', tags: 'added' },
  });
  // Folded by an earlier version.
  const older = { ...row, fieldChanges: { status: [2, 20, 1] as const } };
  expect(changesOf(older).at(-1)).toMatchObject({ field: 'status', kind: null });
});

test('an earlier observation that comes late moves the first row, and what it adds is a change of its own revision', () => {
  const row = foldAll(observationOf('c', 20, { status: 'b' }), observationOf('c', 10, { lang: 'fr' }, 'import'));
  expect(
    changesOf(row).map(({ field, revision, source, observed_at }) => [field, revision, source, observed_at]),
  ).toEqual([
    ['*', 1, 'import', 10],
    ['lang', 2, 'import', 10],
  ]);
});

test('names that are not plain show as extra, once a change; none is longer than a key may be', () => {
  const names = ['+33 6 12 34 56 78', 'n'.repeat(65), '', '*', '__proto__'];
  const fields = JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:1`).join(',')}}`);
  const row = foldAll(observationOf('c', 10), { ...observationOf('c', 20), fields });
  expect(changesOf(row).map(({ field }) => field)).toEqual(['*', 'extra', '__proto__']);
});

test('privacy rules change no row, and an erasure leaves none', () => {
  const row = foldAll(observationOf('c', 10, { status: 'a' }), observationOf('c', 20, { status: 'b' }));
  const ruled = foldRules(row, (observation) => ({ ...observation, fields: { ...observation.fields, status: 'x' } }));
  expect(ruled.revision).toBe(3);
  expect(changesOf(ruled)).toEqual(changesOf(row));
  expect(changesOf(foldErasure(row))).toEqual([]);
});

test('every row is told apart by its key, and its revision is one that the call has had', () => {
  fc.assert(
    fc.property(observationsInOrders('c'), ({ arrivals }) => {
      for (const arrival of arrivals) {
        const row = foldAll(...arrival);
        const rows = changesOf(row);
        const keys = rows.map((one) => JSON.stringify(tableOf('changes').key.map((name) => one[name])));
        expect(new Set(keys).size).toBe(rows.length);
        for (const { revision, observed_at } of rows.slice(1)) {
          expect(revision).toBeGreaterThan(1);
          expect(revision).toBeLessThanOrEqual(row.revision);
          expect(arrival.some(({ observedAt }) => observedAt === observed_at)).toBe(true);
        }
      }
    }),
    { numRuns: 100 },
  );
});
