/** Slow sockets and oversized bodies for 30 seconds beside valid deliveries. About 2 minutes. */
import { describeHostile } from '../webhook/hostile-cases.ts';

describeHostile({ slow: 500, oversized: 200, seconds: 30, p99Ms: 500 });
