/** One warehouse of its own for a group of conformance tests, migrated and empty. */
import { expect } from 'vitest';
import type { DigestedName, LoadBatch } from '../../src/warehouse/warehouse.ts';
import { useOpened } from '../support/opened.ts';
import { collect } from '../support/rows.ts';
import { type CallShape, makeBatch, makeCall, rowsOfCall } from './batches.ts';
import type { Target } from './conformance-targets.ts';

export type Fixture = ReturnType<typeof useFixture>;

/** Filled before the first test of the group runs. */
export const useFixture = (useTarget: () => Promise<Target>) =>
  useOpened(async () => {
    const target = await useTarget();
    const warehouse = target.open();
    await warehouse.migrate();
    let next = 1;
    /** A load of one call. */
    const load = (shape: CallShape, over: Partial<LoadBatch> = {}) =>
      warehouse.load(makeBatch({ calls: [makeCall(shape)], ...over }));
    return {
      target,
      warehouse,
      newId: () => `call-${String(next++).padStart(3, '0')}`,
      close: target.dispose,
      load,
      /** How many calls a load of one call has changed: it, or none. */
      changed: async (...of: Parameters<typeof load>) => (await load(...of)).changed,
      /** Rows of a call in a table. */
      rows: (table: DigestedName, callId: string) => rowsOfCall(warehouse, table, callId),
      /** Of all rows of calls: equal while nothing of them changes. */
      digests: (...callIds: readonly string[]) => collect(warehouse.proof.digestCalls(callIds)),
      /** How many rows a call has in each child table. */
      childRows: async (callId: string) =>
        (await collect(warehouse.proof.listGuards({ callIds: [callId] })))[0]?.childRows,
      /** The one row of a call. */
      async callRow(callId: string) {
        const rows = await rowsOfCall(warehouse, 'calls', callId);
        expect(rows).toHaveLength(1);
        return rows[0] as Record<string, unknown>;
      },
    };
  });
