/** The ages that are read again, learned from late changes of calls, and the resulting windows. */
import { expect, test } from 'vitest';
import { lengthOf } from '../../../src/lib/intervals.ts';
import { learnHorizon, planParts } from '../../../src/pipeline/read/reread-windows.ts';
import type { CoveredBand } from '../../../src/store/ledger/late-changes.ts';

type RereadPlan = ReturnType<typeof planParts>;

const day = 86_400_000_000;
const rules = { horizon: 7 * day, share: 0.999, delay: day, maxHorizon: 90 * day, sample: 0 };
const fixed = learnHorizon([], rules);
const start = 20_000 * day;

const carryOut = (plan: RereadPlan, states: readonly CoveredBand[], now: number): CoveredBand[] => [
  ...states.filter((state) => !plan.covers.some(({ band, kind }) => band === state.band && kind === state.kind)),
  ...plan.covers.map((cover) => ({ ...cover, coveredAt: now })),
];

test('a plan of re-reads catches up a downtime, and the span of a longer horizon, from the beginning', () => {
  const plan = (horizon: typeof fixed, states: readonly CoveredBand[], now: number) =>
    planParts(horizon, states, rules, { now, trackedSince: start });
  const states = carryOut(plan(fixed, [], start), [], start);
  const late = start + 10 * day;
  const after = plan(fixed, states, late);
  expect(after.parts).toMatchObject([{ from: start - 7 * day, to: late, since: null }]);

  const joined = plan(learnHorizon([], { ...rules, horizon: 20 * day }), carryOut(after, states, late), late + day);
  expect(Math.min(...joined.parts.map((part) => part.from))).toBe(start - day - 20 * day);
  expect(lengthOf(joined.parts)).toBe(joined.parts.reduce((sum, part) => sum + part.to - part.from, 0));
});
