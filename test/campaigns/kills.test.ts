/**
 * Processes and servers that are killed at random moments, and answers that are lost. About 19 minutes in all, each
 * case as it says.
 */

import { describe, expect, test } from 'vitest';
import { killTemporalDuringBackfill } from '../e2e/kill-temporal.ts';
import { type Incident, restoreUnderLoad } from '../e2e/restore-cases.ts';
import { findInstalledPostgres } from '../support/installed-postgres.ts';
import * as faults from '../warehouse/bigquery/fault-cases.ts';
import { describeKills } from '../webhook/kill-cases.ts';

/**
 * Workers, receiver and PostgreSQL are killed (SIGKILL) at random moments under live webhooks. The server is away for a
 * minute. No answered delivery is lost, without a reconcile. About 6 minutes; CALLSYNC_SEED for other moments.
 */
const programs = findInstalledPostgres();

const first = ['worker killed', 'receiver killed', 'server killed', 'receiver killed', 'server away'] as const;
const incidents: readonly Incident[] = [...first, 'worker killed', 'server killed', 'receiver killed'];

test.skipIf(programs === undefined)('processes: nothing is lost, stale or back, whatever is killed', async () => {
  const seed = Number(process.env.CALLSYNC_SEED ?? 1);
  const figures = await restoreUnderLoad({ incidents, seed, ...(programs && { programs }) });
  expect(figures).toMatchObject({ answeredLost: 0, epochs: 1 });
  // A call that came without a receiver is stale until it is read again.
  for (const report of Object.values(figures.beforeReconcile))
    expect(report).toMatchObject({ lost: 0, mismatched: 0, duplicated: 0 });
});

/** Ten kills of the Temporal server during a backfill. About 3 minutes. */

test('temporal: a backfill outlives a Temporal server that is killed ten times', async () => {
  const figures = await killTemporalDuringBackfill(10, 3_500);
  expect(figures.secondsAfterLastRestart).toBeLessThan(30 + figures.secondsUndisturbed);
});

/** 100 kills of the receiver under load. About 5 minutes. */
describe('receiver', () => describeKills({ kills: 100 }));

/** Lost responses, conflicts and kills in BigQuery loads, against a strict stand-in. About 5 minutes. */
describe('bigquery', () => {
  faults.describeLostResponses({ lost: 200 });
  faults.describeConflicts({ inARow: 30 });
  faults.describeKills(10);
});
