/** Restores and losses of ledger and warehouses. About 10 minutes in all, each case as it says. */

import { describe, expect, test } from 'vitest';
import { type Incident, type RestoreFigures, restoreUnderLoad } from '../e2e/restore-cases.ts';
import { findInstalledPostgres } from '../support/installed-postgres.ts';

/**
 * Restores and losses of ledger and warehouses, of PostgreSQL and BigQuery, at 20 random moments under two workers and
 * live webhooks; then three by PostgreSQL's own programs. About 10 minutes; CALLSYNC_POINTS=3 for less, CALLSYNC_SEED
 * for other moments.
 */
describe('points', () => {
  const kinds: readonly Incident[] = [
    'ledger',
    'warehouses',
    'ledger anew',
    'both',
    'warehouses lost',
    'ledger',
    'ledger lost',
  ];

  const seed = Number(process.env.CALLSYNC_SEED ?? 1);

  const expectWhole = (figures: RestoreFigures): void => {
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(figures).toMatchObject({ erasedBack: 0, auditOverwritten: 0, wrong: [] });
    for (const report of Object.values(figures.afterReconcile)) {
      expect(report).toMatchObject({ lost: 0, stale: 0, mismatched: 0, duplicated: 0 });
    }
  };

  test('nothing is lost, stale or back, and no audit row is overwritten', async () => {
    const points = Number(process.env.CALLSYNC_POINTS ?? 20);
    const incidents = Array.from({ length: points }, (_, point) => kinds[point % kinds.length] as Incident);
    expectWhole(await restoreUnderLoad({ incidents, seed }));
  });

  const programs = findInstalledPostgres();

  test.skipIf(programs === undefined)('nor after restores by pg_restore and of a copied data directory', async () => {
    const incidents = ['ledger from a dump', 'server from its files', 'ledger from a dump'] as const;
    expectWhole(await restoreUnderLoad({ incidents, seed, ...(programs && { programs }) }));
  });
});
