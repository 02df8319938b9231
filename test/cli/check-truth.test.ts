/** The truth check of the demo, against a warehouse that is a list of rows. */
import { expect, test } from 'vitest';
import type { TruthEntry } from '../../src/simulator/calls/truth.ts';
import type { SimulatorControl } from '../../src/simulator/control/control.ts';
import { checkTruth } from '../../src/simulator/demo/check-truth.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

const document = { unique_id: 'any', timestamp: '2025-03-01T10:00:00Z' };

const controlOf = (ids: readonly string[]): SimulatorControl =>
  ({
    truth: async function* () {
      for (const callId of ids)
        yield { callId, document: { ...document, unique_id: callId }, version: 1 } as unknown as TruthEntry;
    },
  }) as unknown as SimulatorControl;

const empty = { rowsOf: async function* () {} } as unknown as Warehouse;

test('an erased call that the service still has is kept out, and not lost', async () => {
  const control = controlOf(['erased-1', 'erased-2', 'lost-1']);
  const told: string[] = [];
  const report = await checkTruth(control, empty, () => true, {
    findErased: async (ids) => new Set(ids.filter((id) => id.startsWith('erased'))),
    tell: ({ callId }, wrong) => told.push(`${callId} ${wrong}`),
  });
  expect(report).toEqual({ calls: 3, erased: 2, lost: 1, duplicated: 0, stale: 0, mismatched: 0 });
  expect(told).toEqual(['lost-1 lost']);
});
