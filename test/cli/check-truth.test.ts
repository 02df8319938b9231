/** The truth check of the demo. */
import { expect, test } from 'vitest';
import { checkTruth } from '../../src/simulator/demo/check-truth.ts';

test('an erased call that the service still has is kept out, and not lost', async () => {
  const entries = ['erased-1', 'erased-2', 'lost-1'].map((callId) => ({ callId, document: {}, version: 1 }));
  const told: string[] = [];
  const empty = { proof: { rowsOf: () => [], digestCalls: () => [] } } as never;
  const report = await checkTruth({ truth: () => entries } as never, empty, () => true, {
    findErased: async (ids) => new Set(ids.filter((id) => id.startsWith('erased'))),
    tell: ({ callId }, wrong) => told.push(`${callId} ${wrong}`),
  });
  expect(report).toEqual({ calls: 3, erased: 2, lost: 1, duplicated: 0, stale: 0, mismatched: 0 });
  expect(told).toEqual(['lost-1 lost']);
});
