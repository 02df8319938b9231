/**
 * Reads 500 random lists with every quirk that the simulated service has, while calls come, go and change: never
 * complete and lost. About 15 minutes. What it prints of a seed is run alone by
 * `SEEDS=112,149 npx vitest run test/pipeline/read/never-lost.test.ts`.
 */
import { describeNeverLost } from '../pipeline/read/never-lost-cases.ts';

describeNeverLost(Array.from({ length: 500 }, (_, index) => index + 1));
