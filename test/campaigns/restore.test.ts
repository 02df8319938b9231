/**
 * Restores and losses of ledger and warehouses, of PostgreSQL and BigQuery, at 20 random moments under two workers and
 * live webhooks. About 8 minutes; CALLSYNC_POINTS=3 for less, CALLSYNC_SEED for other moments.
 */
import { expect, test } from 'vitest';
import { type Incident, restoreUnderLoad } from '../e2e/restore-cases.ts';

const kinds: readonly Incident[] = [
  'ledger',
  'warehouses',
  'ledger anew',
  'both',
  'warehouses lost',
  'ledger',
  'ledger lost',
];

test('nothing is lost, stale or back, and no audit row is overwritten', async () => {
  const points = Number(process.env.CALLSYNC_POINTS ?? 20);
  const figures = await restoreUnderLoad({
    incidents: Array.from({ length: points }, (_, point) => kinds[point % kinds.length] as Incident),
    seed: Number(process.env.CALLSYNC_SEED ?? 1),
  });
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ erasedBack: 0, auditOverwritten: 0 });
  for (const report of Object.values(figures.afterReconcile)) {
    expect(report).toMatchObject({ lost: 0, stale: 0, mismatched: 0, duplicated: 0 });
  }
});
