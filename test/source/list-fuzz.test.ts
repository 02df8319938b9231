/** A part of the mutated list responses. For all of them: `npm run campaign -- lists fuzz`. */
import { describeListFuzz } from './list-fuzz-cases.ts';

describeListFuzz(400);
