/** 20,000 mutated list responses: nothing crashes or hangs, and no valid record is lost. About 1 minute. */
import { describeListFuzz } from '../source/list-fuzz-cases.ts';

describeListFuzz(20_000, 340);
