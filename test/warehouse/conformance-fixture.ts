/** One warehouse of its own for a group of conformance tests, migrated and empty. */
import { afterAll, beforeAll, expect } from 'vitest';
import type { CallDigest, DigestedName, LoadBatch, LoadResult, Warehouse } from '../../src/warehouse/warehouse.ts';
import { type CallShape, makeBatch, makeCall, rowsOfCall } from './batches.ts';
import type { Target } from './conformance-targets.ts';

export interface Fixture {
  readonly target: Target;
  readonly warehouse: Warehouse;
  newId(): string;
  /** A load of one call. */
  load(shape: CallShape, over?: Partial<LoadBatch>): Promise<LoadResult>;
  /** How many calls a load of one call has changed: it, or none. */
  changed(shape: CallShape, over?: Partial<LoadBatch>): Promise<number>;
  /** Rows of a call in a table. */
  rows(table: DigestedName, callId: string): Promise<Record<string, unknown>[]>;
  /** Of all rows of calls: equal while nothing of them changes. */
  digests(...callIds: readonly string[]): Promise<readonly CallDigest[]>;
  /** How many rows a call has in each child table. */
  childRows(callId: string): Promise<Readonly<Record<string, number>> | undefined>;
  /** The one row of a call. */
  callRow(callId: string): Promise<Record<string, unknown>>;
}

/** Filled before the first test of the group runs. */
export const useFixture = (useTarget: () => Promise<Target>): Fixture => {
  let target: Target;
  let warehouse: Warehouse;
  let next = 0;
  beforeAll(async () => {
    target = await useTarget();
    warehouse = target.open();
    await warehouse.migrate();
  });
  afterAll(() => target.dispose());
  return {
    get target() {
      return target;
    },
    get warehouse() {
      return warehouse;
    },
    newId() {
      next += 1;
      return `call-${String(next).padStart(3, '0')}`;
    },
    load: (shape, over = {}) => warehouse.load(makeBatch({ calls: [makeCall(shape)], ...over })),
    changed: async (shape, over = {}) =>
      (await warehouse.load(makeBatch({ calls: [makeCall(shape)], ...over }))).changed,
    rows: (table, callId) => rowsOfCall(warehouse, table, callId),
    async digests(...callIds) {
      const found: CallDigest[] = [];
      for await (const digest of warehouse.digestCalls(callIds)) found.push(digest);
      return found;
    },
    async childRows(callId) {
      for await (const guard of warehouse.listGuards({ callIds: [callId] })) return guard.childRows;
      return undefined;
    },
    async callRow(callId) {
      const rows = await rowsOfCall(warehouse, 'calls', callId);
      expect(rows).toHaveLength(1);
      return rows[0] as Record<string, unknown>;
    },
  };
};
