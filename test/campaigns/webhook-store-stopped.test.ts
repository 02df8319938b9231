import { describeStoreStopped } from '../webhook/store-stopped-cases.ts';

describeStoreStopped({ awayMs: 60_000 });
