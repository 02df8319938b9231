/**
 * The steady state as a process of its own, so that its memory can be told. Its first argument is `{url, calls,
 * rounds}` as JSON; it prints `{"peakMb": …}`.
 */
import { openStore } from '../../src/store/store.ts';
import { createErasures } from '../support/erasures.ts';
import { openSteadyWork, runSteadyState } from './steady-state.ts';

export interface SteadyProcessOptions {
  readonly url: string;
  /** That the store was filled with. */
  readonly calls: number;
  readonly rounds: number;
}

const { url, calls, rounds } = JSON.parse(process.argv[2] ?? '') as SteadyProcessOptions;
const erasures = createErasures();
const store = await openStore({ url, max: 4, erasures: erasures.open });
const work = openSteadyWork(store);
for (let round = 1; round <= rounds; round += 1) await runSteadyState(work, calls, round);
erasures.remove();
process.stdout.write(`${JSON.stringify({ peakMb: process.resourceUsage().maxRSS / 1024 })}\n`, () => process.exit());
