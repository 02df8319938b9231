/**
 * The receiver under mutated, slow and large requests, without its store, and two spools in one folder. About 23
 * minutes in all, each case as it says.
 */

import { describe } from 'vitest';
import { describeFuzz } from '../webhook/fuzz-cases.ts';
import { describeFlood, describeHostile } from '../webhook/hostile-cases.ts';
import { describeSpoolLock } from '../webhook/spool-lock-cases.ts';
import { describeStoreStopped } from '../webhook/store-stopped-cases.ts';

/** 100,000 mutated deliveries. About 2 minutes. */
describe('fuzz', () => describeFuzz({ count: 100_000 }));

/**
 * Slow sockets and oversized bodies come for 30 seconds beside valid deliveries. Then one address holds 2,000 idle
 * connections and sends hostile bodies of 16 MiB. Another sends 200 deliveries of 8 MiB. About 4 minutes.
 */
describe('hostile', () => {
  describeHostile({ slow: 500, oversized: 200, seconds: 30, p99Ms: 500, mostMb: 100 });
  describeFlood({ idle: 2_000, bodies: 100, deliveries: 200, everyMs: 500, answerWithinMs: 10_000 });
});

/** Deliveries while the store is away for a minute. About 2 minutes. */
describe('store-stopped', () => describeStoreStopped({ awayMs: 60_000 }));

/** Two spools on one folder, 100 times each: frozen, in another PID namespace, started at once. About 15 minutes. */
describe('spool-lock', () => describeSpoolLock({ runs: 100, atOnce: 4 }));
