/** Readings of an installation in which nothing is wrong, and a backlog of years waits. */
import type { Readings } from '../../../src/health/conditions.ts';

export const warehouse: Readings['warehouses'][number] = {
  ...{ name: 'main', pending: 4_000_000, liveOldestAge: 3, erasureOldestAge: null, lastError: null, loaded: 61 },
  ...{ lastLoadAt: 1_002_000, newestVisible: 1_000_000, refused: 0, refusal: null },
};

export const healthy: Readings = {
  ...{ at: 1_005_000, epoch: 1, calls: 1_234, tombstones: 0, unread: 0, holds: 0, openProblems: 0, grantedRequests: 0 },
  ...{ inbox: { count: 1, oldestAge: 2, outcomes: {} }, quarantine: { count: 0, oldestAge: null } },
  ...{ rereads: { count: 0, oldestAge: null, unanswered: 0 }, refused: { count: 0, oldestAge: null, newestAge: null } },
  ...{ warehouses: [warehouse], workerAge: 14, maintenance: null, syncEvery: 60, callsPerMinute: 62.4 },
  sync: { lag: 65, watermark: new Date(0), watermarkAge: 9e8, lastError: null, failedAt: null },
  flow: { arrived: 60, merged: 59, refused: 0, deliveryAge: 1, callAge: 4 },
  proofs: [{ warehouse: 'main', unproven: 0, withdrawn: 0, waiting: 0, suspiciousEmpty: 0, oldestAge: null }],
  usages: [{ warehouse: 'main', jobs: { used: 5, limit: Number.POSITIVE_INFINITY } }],
};
