/**
 * Reads 500 random lists with every quirk that the simulated service has, while calls come, go and change: never
 * complete and lost. About 15 minutes. `CALLSYNC_SEED=1001` reads 500 others. What it prints of a seed is run alone by
 * `SEEDS=112,149 npx vitest run test/pipeline/read/never-lost.test.ts`.
 */
import { describeNeverLost } from '../pipeline/read/never-lost-cases.ts';

const first = Number(process.env.CALLSYNC_SEED ?? 1);
describeNeverLost(Array.from({ length: 500 }, (_, index) => first + index));
