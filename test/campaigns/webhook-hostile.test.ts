/**
 * Slow sockets and oversized bodies for 30 seconds beside valid deliveries; then 2,000 idle connections and hostile bodies of
 * 16 MiB from one address, while another sends 200 deliveries of 8 MiB. About 4 minutes.
 */
import { describeFlood } from '../webhook/flood-cases.ts';
import { describeHostile } from '../webhook/hostile-cases.ts';

describeHostile({ slow: 500, oversized: 200, seconds: 30, p99Ms: 500 });
describeFlood({ idle: 2_000, bodies: 100, deliveries: 200, everyMs: 500, answerWithinMs: 10_000 });
