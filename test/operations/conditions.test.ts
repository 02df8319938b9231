/** The conditions, their limits, and whether the named commands exist. */
import { expect, test } from 'vitest';
import { conditions } from '../../schemas/config/notifications.ts';
import { judge, type Readings } from '../../src/health/conditions.ts';
import { healthy, warehouse } from './support/healthy.ts';

const found = (readings: Partial<Readings>) => judge({ ...healthy, ...readings });

test('finds nothing in an installation with a backlog alone', () => {
  expect(judge(healthy)).toEqual([]);
  expect(judge({ ...healthy, proofs: undefined, usages: undefined, sync: null, workerAge: null })).toEqual([]);
});

const proof = { warehouse: 'main', unproven: 0, withdrawn: 0, waiting: 0, suspiciousEmpty: 0, oldestAge: null };
const sync = { lag: 5, watermark: new Date(0), watermarkAge: 9, lastError: null, failedAt: null };
const inbox = { count: 7, oldestAge: 61, outcomes: {} };
const failing = { ...sync, lastError: 'E' };
test.each<[string, Partial<Readings>, boolean, string]>([
  ['stale', { sync: { ...sync, lag: 61, lastError: 'SERVICE_UNREACHABLE' } }, false, '61 s (SERVICE_UNREACHABLE)'],
  ['stale', { sync: { ...sync, lag: null, watermarkAge: 600, lastError: 'E' } }, false, 'been read yet (E).'],
  ['stale', { sync: { ...sync, lag: 121 } }, false, '2 min.'],
  ['stale', { sync: { ...sync, lag: 1_200 } }, true, 'New calls have not been read for 20 min.'],
  ['inbox_stalled', { inbox }, false, '7 deliveries; the oldest has waited for 61 s.'],
  ['inbox_stalled', { inbox: { ...inbox, count: 1, oldestAge: 600 } }, true, '1 delivery;'],
  ['inbox_stalled', { inbox: { ...inbox, oldestAge: 600 }, workerAge: null }, true, 'Start callsync worker.'],
  ['quarantine_open', { quarantine: { count: 1, oldestAge: 5 } }, true, '1 record.'],
  ['reread_unanswered', { rereads: { count: 0, oldestAge: null, unanswered: 2 } }, true, '2 calls'],
  ['load_stalled', { warehouses: [{ ...warehouse, liveOldestAge: 61, lastError: 'E' }] }, false, '61 s behind (E)'],
  ['load_stalled', { warehouses: [{ ...warehouse, liveOldestAge: 1_800 }] }, true, 'main is 30 min behind.'],
  ['load_stalled', { warehouses: [{ ...warehouse, erasureOldestAge: 1_800 }] }, true, '30 min behind.'],
  ['quota_low', { usages: [{ warehouse: 'main', jobs: { used: 1_300, limit: 1_400 } }] }, true, '93 %'],
  ['unproven', { proofs: [{ ...proof, unproven: 3, withdrawn: 2, oldestAge: 9 }] }, true, '1 window.'],
  ['unproven', { proofs: [{ ...proof, unproven: 1, waiting: 1 }], sync: failing }, true, '1 wait for the service (E).'],
  ['suspicious_empty', { proofs: [{ ...proof, suspiciousEmpty: 1, oldestAge: 9 }] }, true, '1 win'],
  ['webhook_refused', { refused: { count: 188, oldestAge: 40, newestAge: 1 } }, false, 'webhook.header_prefix'],
  ['webhook_refused', { refused: { count: 188, oldestAge: 400, newestAge: 1 } }, true, '188 deliveries'],
  ['calls_refused', { warehouses: [{ ...warehouse, refused: 2, refusal: 'E. Go.' }] }, true, '2 calls (E. Go).'],
  ['maintenance_failed', { maintenance: { error: 'E: No.', age: 61 } }, false, 'for 61 s (E: No).'],
  ['maintenance_failed', { maintenance: { error: 'E', age: 1_000 } }, true, '17 min (E).'],
  ['worker_gone', { workerAge: 31 }, false, '31 s'],
  ['worker_gone', { workerAge: 500 }, true, '8 min'],
])('%s: %j is told to channels: %s', (condition, readings, isUrgent, words) => {
  const [first, ...others] = found(readings);
  expect(others).toEqual([]);
  expect(first).toMatchObject({ condition, isUrgent, summary: expect.stringContaining(words) });
  expect(conditions).toContain(condition);
});

test.each<[string, Partial<Readings>]>([
  ['a delivery or two of a stranger', { refused: { count: 2, oldestAge: 40, newestAge: 1 } }],
  ['refused deliveries that have stopped', { refused: { count: 9, oldestAge: 3_000, newestAge: 901 } }],
  ['a slow pace that is configured', { sync: { ...sync, lag: 800 }, syncEvery: 600 }],
  ['a proof that an erasure withdrew just now', { proofs: [{ ...proof, unproven: 3, withdrawn: 3, oldestAge: 9 }] }],
  ['calls that gather for a commit', { warehouses: [{ ...warehouse, liveOldestAge: 600 }] }],
])('%s is no fault', (_, readings) => expect(found(readings)).toEqual([]));

test('puts the worst first, each with the time at which it began', () => {
  const all = found({
    quarantine: { count: 1, oldestAge: 5 },
    warehouses: [{ ...warehouse, liveOldestAge: 1_000 }],
    usages: [{ warehouse: 'main', jobs: { used: 9, limit: 10 } }],
    workerAge: 50,
  });
  expect(all.map(({ condition, since }) => [condition, since])).toEqual([
    ['load_stalled', healthy.at - 1_000_000],
    ['worker_gone', healthy.at - 50_000],
    ['quarantine_open', healthy.at - 5_000],
    ['quota_low', null],
  ]);
});
