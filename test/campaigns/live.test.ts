/** Live calls beside other work. About 20 minutes in all, each case as it says. */

import { describe, expect, onTestFinished, test } from 'vitest';
import { listAway, liveBesideBackfill } from '../e2e/live-cases.ts';
import { restoreUnderLoad } from '../e2e/restore-cases.ts';
import { createBouncedDatabase, pgbouncer } from '../support/pgbouncer.ts';
import { installDebian } from '../support/tools.ts';
import { describeOpenTransaction } from '../warehouse/postgres/open-transaction-cases.ts';

/**
 * The list is away and a repeated delivery waits for it: other deliveries stay visible within 2 seconds. About 5
 * minutes; CALLSYNC_SECONDS=60 for less.
 */

test('list-away: 95 of 100 deliveries are visible within 2 seconds', async () => {
  const { p95Seconds } = await listAway(Number(process.env.CALLSYNC_SECONDS ?? 300) * 1000);
  expect(p95Seconds).toBeLessThanOrEqual(2);
});

/**
 * Live calls beside a backfill with concurrency 8 and a reconcile: how soon they are visible with a schedule of 5
 * seconds. About 10 minutes; CALLSYNC_SECONDS=120 for less.
 */

test('beside-backfill: 95 of 100 calls are visible within 10 seconds after they are listed', async () => {
  const { p95Seconds } = await liveBesideBackfill(Number(process.env.CALLSYNC_SECONDS ?? 600) * 1000);
  expect(p95Seconds).toBeLessThanOrEqual(10);
});

/** An analyst's transaction holds `words` for 5 minutes while 3 workers start and loads go on. About 5 minutes. */
describe('open-transaction', () => describeOpenTransaction({ seconds: 300 }));

/**
 * The work of the demo through PgBouncer in session mode: polls and webhooks into PostgreSQL, a worker and a receiver
 * killed, a reconcile. About 2 minutes.
 */

test('pgbouncer: behind PgBouncer in session mode nothing is lost, stale or twice', async () => {
  await installDebian({ pgbouncer });
  const database = await createBouncedDatabase();
  onTestFinished(() => database.close());
  const databaseUrl = await database.open('session');
  const incidents = ['worker killed', 'receiver killed'] as const;
  await restoreUnderLoad({ incidents, seed: 1, databaseUrl, isSmall: true });
});
