/**
 * Time and pages of every statement of the steady state, in a store of 3 million calls filled by SQL; then the memory of a
 * worker. About 12 minutes.
 */
import { describeScale } from '../store/scale-cases.ts';

describeScale({ calls: 3_000_000, maxBuffers: 5_000, maxMs: 50, memoryAsAt: 5_000 });
