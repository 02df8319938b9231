/** Every bench in a form of seconds: one that nobody starts breaks unseen. About 4 minutes. */
import { describe } from 'vitest';
import { describeBenches } from '../e2e/bench-cases.ts';

describe('benches', () => describeBenches());
