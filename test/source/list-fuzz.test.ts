/** A part of the mutated list responses. For all of them: `npm run campaign -- lists fuzz`. */
import { testListFuzz } from './list-fuzz-cases.ts';

testListFuzz(400);
