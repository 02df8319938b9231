/** Deliveries while the store is away for a minute. About 2 minutes. */
import { describeStoreStopped } from '../webhook/store-stopped-cases.ts';

describeStoreStopped({ awayMs: 60_000 });
