/** The truth check of the demo and its comparison of warehouses, which are lists of rows here. */
import { expect, test } from 'vitest';
import type { SimulatorControl } from '../../src/simulator/control/local-control.ts';
import { checkEqual, checkTruth } from '../../src/simulator/demo/check-truth.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

test('an erased call that the service still has is kept out, and not lost', async () => {
  const entries = ['erased-1', 'erased-2', 'lost-1'].map((callId) => ({ callId, document: {}, version: 1 }));
  const control = { truth: () => entries } as unknown as SimulatorControl;
  const told: string[] = [];
  const empty = { proof: { rowsOf: () => [], digestCalls: () => [] } } as unknown as Warehouse;
  const report = await checkTruth(control, empty, () => true, {
    findErased: async (ids) => new Set(ids.filter((id) => id.startsWith('erased'))),
    tell: ({ callId }, wrong) => told.push(`${callId} ${wrong}`),
  });
  expect(report).toEqual({ calls: 3, erased: 2, lost: 1, duplicated: 0, stale: 0, mismatched: 0 });
  expect(told).toEqual(['lost-1 lost']);
});

test('a row that differs between the warehouses of the demo is found: changed, lost, or without a call', async () => {
  const tag = (call_id: string, display_name: string) => ({ call_id, tag_index: 0, display_name });
  const holding = (...tags: readonly object[]) =>
    ({ proof: { rowsOf: (name: string) => (name === 'tags' ? tags : [{ call_id: 'c-1' }]) } }) as unknown as Warehouse;
  const left = holding(tag('c-1', 'a'), tag('c-2', 'a'), tag('c-3', 'a'));
  const right = holding(tag('c-3', 'a'), tag('c-1', 'b'), tag('c-90', 'a'));
  const { equal, differences } = await checkEqual(left, right, ['calls', 'tags']);
  expect(equal).toEqual({ calls: { rows: 1, different: 0 }, tags: { rows: 4, different: 3 } });
  const keys = ['c-1', 'c-2', 'c-90'].map((id) => `call_id=${id} tag_index=0`);
  expect(differences.map(({ key }) => key).sort()).toEqual(keys);
});
