/**
 * Workers, receiver and PostgreSQL killed (SIGKILL) at random moments under live webhooks, and the server away for a minute:
 * nothing that was answered is lost, without a reconcile. About 6 minutes; CALLSYNC_SEED for other moments.
 */
import { expect, test } from 'vitest';
import { type Kill, restoreUnderLoad } from '../e2e/restore-cases.ts';
import { findInstalledPostgres } from '../support/installed-postgres.ts';

const programs = findInstalledPostgres();

const kills: readonly Kill[] = [
  'worker killed',
  'receiver killed',
  'server killed',
  'receiver killed',
  'server away',
  'worker killed',
  'server killed',
  'receiver killed',
];

test.skipIf(programs === undefined)('nothing is lost, stale or back, whatever is killed', async () => {
  const seed = Number(process.env.CALLSYNC_SEED ?? 1);
  const figures = await restoreUnderLoad({ incidents: kills, seed, ...(programs && { programs }) });
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ answeredLost: 0, erasedBack: 0, auditOverwritten: 0, epochs: 1, wrong: [] });
  // What came while no receiver was there is stale until it is read again.
  for (const report of Object.values(figures.beforeReconcile)) {
    expect(report).toMatchObject({ lost: 0, mismatched: 0, duplicated: 0 });
  }
});
