import { describe, expect, test } from 'vitest';
import { intersect, lengthOf, subtract } from '../../src/lib/intervals.ts';
import { learnHorizon } from '../../src/rereads/learn-horizon.ts';
import { type CoveredBand, planningInterval, planParts, type RereadPlan } from '../../src/rereads/plan-parts.ts';

const hour = 3_600_000_000;
const day = 24 * hour;
const rules = { delay: day, maxHorizon: 90 * day, sample: 0.05 };
const fixed = learnHorizon([], { horizon: 7 * day, share: 0.999, maxHorizon: 90 * day, delay: day });
const start = 20_000 * day;

const carryOut = (plan: RereadPlan, states: readonly CoveredBand[], now: number): CoveredBand[] => [
  ...states.filter((state) => !plan.covers.some(({ band, kind }) => band === state.band && kind === state.kind)),
  ...plan.covers.map((cover) => ({ ...cover, coveredAt: now })),
];
const whole = (plan: RereadPlan) => plan.parts.filter((part) => part.weight === 1);

describe('a plan of re-reads', () => {
  test('looks at every age within the horizon once a delay, and not between', () => {
    let states: CoveredBand[] = [];
    let reads = 0;
    for (let now = start; now < start + 5 * day; now += planningInterval(day)) {
      const plan = planParts(fixed, states, { ...rules, sample: 0 }, { now, trackedSince: start });
      if (plan.parts.length === 0) continue;
      reads += 1;
      expect(lengthOf(plan.parts)).toBeLessThanOrEqual(8 * day);
      for (const state of states) expect(now - state.coveredAt).toBeLessThanOrEqual(day);
      states = carryOut(plan, states, now);
    }
    expect(reads).toBeGreaterThanOrEqual(5);
    expect(reads).toBeLessThanOrEqual(6);
  });

  test('catches up what a downtime left, and what a longer horizon brings in, back to the beginning', () => {
    const first = planParts(fixed, [], { ...rules, sample: 0 }, { now: start, trackedSince: start });
    const states = carryOut(first, [], start);
    const late = start + 10 * day;
    const after = planParts(fixed, states, { ...rules, sample: 0 }, { now: late, trackedSince: start });
    expect(after.parts).toMatchObject([{ from: start - 7 * day, to: late, since: null }]);

    const longer = learnHorizon([], { horizon: 20 * day, share: 0.999, maxHorizon: 90 * day, delay: day });
    const joined = planParts(
      longer,
      carryOut(after, states, late),
      { ...rules, sample: 0 },
      { now: late + day, trackedSince: start },
    );
    expect(Math.min(...joined.parts.map((part) => part.from))).toBe(start - day - 20 * day);
    expect(lengthOf(joined.parts)).toBe(joined.parts.reduce((sum, part) => sum + part.to - part.from, 0));
  });

  test('follows the same sampled windows beyond the horizon, weighted by their share', () => {
    const first = planParts(fixed, [], rules, { now: start, trackedSince: start });
    const sampled = first.parts.filter((part) => part.weight !== 1);
    expect(sampled.every((part) => part.weight === 20 && part.to <= start - 7 * day)).toBe(true);
    expect(lengthOf(sampled) / lengthOf([{ from: start - 90 * day, to: start - 8 * day }])).toBeCloseTo(0.05, 1);
    const next = planParts(fixed, carryOut(first, [], start), rules, { now: start + day, trackedSince: start });
    const again = next.parts.filter((part) => part.weight !== 1);
    const stillBeyond = intersect(sampled, [{ from: start - 88 * day, to: start - 9 * day }]);
    expect(lengthOf(stillBeyond)).toBeGreaterThan(50 * hour);
    expect(subtract(stillBeyond, again)).toEqual([]);
    expect(whole(next)).toHaveLength(1);
  });
});
