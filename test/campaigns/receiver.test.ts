/** The receiver under mutated, slow and large requests. About 6 minutes in all, each case as it says. */

import { describe } from 'vitest';
import { describeFuzz } from '../webhook/fuzz-cases.ts';
import { describeFlood, describeHostile } from '../webhook/hostile-cases.ts';

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
