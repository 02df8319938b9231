/** The ages that are read again, learned from late changes of calls, and the resulting windows. */
import { describe, expect, test } from 'vitest';
import { intersect, lengthOf, subtract } from '../../../src/lib/intervals.ts';
import { learnHorizon, planParts } from '../../../src/pipeline/read/reread-windows.ts';
import { bucketOf, type CoveredBand, type readLateChanges } from '../../../src/store/ledger/late-changes.ts';

type RereadPlan = ReturnType<typeof planParts>;

const hour = 3_600_000_000;
const day = 24 * hour;
const rules = { horizon: 7 * day, share: 0.999, delay: day, maxHorizon: 90 * day, sample: 0.05 };
const fixed = learnHorizon([], rules);
const start = 20_000 * day;

const carryOut = (plan: RereadPlan, states: readonly CoveredBand[], now: number): CoveredBand[] => [
  ...states.filter((state) => !plan.covers.some(({ band, kind }) => band === state.band && kind === state.kind)),
  ...plan.covers.map((cover) => ({ ...cover, coveredAt: now })),
];
const whole = (plan: RereadPlan) => plan.parts.filter((part) => part.weight === 1);

describe('a plan of re-reads', () => {
  test('catches up what a downtime left, and what a longer horizon brings in, back to the beginning', () => {
    const first = planParts(fixed, [], { ...rules, sample: 0 }, { now: start, trackedSince: start });
    const states = carryOut(first, [], start);
    const late = start + 10 * day;
    const after = planParts(fixed, states, { ...rules, sample: 0 }, { now: late, trackedSince: start });
    expect(after.parts).toMatchObject([{ from: start - 7 * day, to: late, since: null }]);

    const longer = learnHorizon([], { ...rules, horizon: 20 * day });
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

const learned: Parameters<typeof learnHorizon>[1] = { ...rules, horizon: undefined };

const seen = (
  ...ages: readonly (readonly [age: number, changes: number, weight?: number])[]
): Awaited<ReturnType<typeof readLateChanges>>[number][] =>
  ages.map(([age, changes, weight = 1]) => ({ bucket: bucketOf(age), changes, weight: changes * weight }));

describe('the learned horizon', () => {
  test('is a month before anything was seen', () => {
    const { horizon, expectedShare } = learnHorizon([], learned);
    expect(horizon / day).toBeGreaterThan(29);
    expect(horizon / day).toBeLessThan(34);
    expect(expectedShare).toBeNull();
  });

  test('says what share it misses when changes come later than the longest horizon', () => {
    const { expectedShare, horizon } = learnHorizon(seen([hour, 99], [200 * day, 1]), learned);
    expect(horizon).toBe(90 * day);
    expect(expectedShare).toBeCloseTo(0.99);
  });

  test('keeps a fixed horizon, whatever was seen', () => {
    const { horizon, beyond } = learnHorizon(seen([40 * day, 100]), { ...learned, horizon: 7 * day });
    expect(horizon).toBe(7 * day);
    expect(beyond.at(-1)?.to).toBe(90 * day);
  });
});
