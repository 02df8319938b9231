/** Restores and losses of ledger and warehouses. About 18 minutes in all, each case as it says. */

import { setTimeout as delay } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { bigquery } from '../../src/warehouse/bigquery/index.ts';
import { type Incident, restoreUnderLoad } from '../e2e/restore-cases.ts';
import { localBigquery, tablesOf } from '../pipeline/persons/bigquery-target.ts';
import { openInstallation } from '../pipeline/reconcile/installation.ts';
import { describeLosses } from '../pipeline/reconcile/lost-warehouse-cases.ts';
import { findInstalledPostgres } from '../support/installed-postgres.ts';
import { openBigquery } from '../support/open-bigquery.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';

/**
 * Restores and losses of ledger and warehouses, of PostgreSQL and BigQuery, at 20 random moments under two workers and
 * live webhooks. Three more restores use PostgreSQL's own programs. About 10 minutes; CALLSYNC_POINTS=3 for less,
 * CALLSYNC_SEED for other moments.
 */
describe('points', () => {
  const first = ['ledger', 'warehouses', 'ledger anew', 'both'] as const;
  const kinds: readonly Incident[] = [...first, 'warehouses lost', 'ledger', 'ledger lost'];
  const seed = Number(process.env.CALLSYNC_SEED ?? 1);

  test('nothing is lost, stale or back, and no audit row is overwritten', async () => {
    const points = Number(process.env.CALLSYNC_POINTS ?? 20);
    const incidents = Array.from({ length: points }, (_, point) => kinds[point % kinds.length] as Incident);
    await restoreUnderLoad({ incidents, seed });
  });

  const programs = findInstalledPostgres();

  test.skipIf(programs === undefined)('nor after restores by pg_restore and of a copied data directory', async () => {
    const incidents = ['ledger from a dump', 'server from its files', 'ledger from a dump'] as const;
    await restoreUnderLoad({ incidents, seed, ...(programs && { programs }) });
  });
});

/**
 * A BigQuery warehouse is dropped, emptied or set back, or a ledger is set back while calls moved to another day.
 * `await` and marts, sampled every 100 ms, never say proven while rows are missing or wrong. About 8 minutes.
 */
describe('proof', () => {
  describeLosses(async () => {
    const config = bigqueryWarehouseSchema.parse({ ...(await localBigquery()), documents: false });
    const warehouse = openBigquery({ name: 'main', config, pause: (ms) => delay(ms / 50) });
    await warehouse.migrate();
    const simulator = { seed: 11, calls: { count: 150, from: '2026-01-16T00:00:00Z', to: '2026-01-31T00:00:00Z' } };
    const here = await openInstallation({ simulator, warehouse });
    here.setNow(Date.parse('2026-03-01T00:00:00Z'));
    return {
      here: { ...here, close: () => here.close().then(() => warehouse.close()) },
      place: bigquery.place(config),
      execute: (sql) => executeIn(config, sql),
      drop: tablesOf(config).drop,
    };
  });
});
