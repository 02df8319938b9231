import { expect, test } from 'vitest';
import { paceRun } from '../../../src/pipeline/load/load-pending.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';

type Due = Partial<Record<'any' | 'changes' | 'interval', number>>;

test.each<[string, string, number, Due | undefined, { isDue?: boolean; newOnly?: boolean; may?: boolean }]>([
  ['a warehouse without a pace does not wait', 'pending', 7, undefined, {}],
  ['nor another, once the interval has passed', 'pending', 7, {}, {}],
  ['it waits before that', 'pending', 7, { interval: 5_000 }, { isDue: false }],
  ['a backlog of a full load does not wait', 'pending', 100, { interval: 5_000 }, {}],
  ['a backfill does not wait', 'backfill:x', 7, { interval: 5_000 }, {}],
  ['the sweep takes changed calls when they are due', 'pending', 7, { changes: 5_000 }, { newOnly: true }],
  ['a fill takes them at once', 'fill', 7, { changes: 5_000 }, {}],
  ['the sweep begins no commit that would have to wait', 'pending', 7, { any: 20_000 }, { may: false }],
  ['an import waits in the load', 'import', 7, { any: 20_000 }, {}],
])('%s', async (_, origin, waiting, due, { newOnly = false, may = true, ...expected }) => {
  const pace = due && { nextCommitInMs: async (kind: keyof Due) => due[kind] ?? 0 };
  const warehouse = { traits: { maxCallsPerLoad: 100 }, pace } as unknown as Warehouse;
  const { mayCommit, ...run } = await paceRun(warehouse, origin, async () => waiting);
  expect({ ...run, may: await mayCommit() }).toEqual({ isDue: true, newOnly, may, ...expected });
});
