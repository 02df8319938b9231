import { describe, expect, test } from 'vitest';
import { bucketEdges, bucketOf } from '../../src/rereads/age-buckets.ts';
import { type HorizonRules, type LateBucket, learnHorizon } from '../../src/rereads/learn-horizon.ts';

const minute = 60_000_000;
const hour = 60 * minute;
const day = 24 * hour;
const rules: HorizonRules = { horizon: undefined, share: 0.999, maxHorizon: 90 * day, delay: day };

const seen = (...ages: readonly (readonly [age: number, changes: number, weight?: number])[]): LateBucket[] =>
  ages.map(([age, changes, weight = 1]) => ({ bucket: bucketOf(age), changes, weight: changes * weight }));

describe('age buckets', () => {
  test('follow one another without gap, and hold their own edges', () => {
    for (let bucket = 0; bucket < 150; bucket += 1) {
      const { from, to } = bucketEdges(bucket);
      expect(bucketEdges(bucket + 1).from).toBe(to);
      expect(bucketOf(from)).toBe(bucket);
      expect(bucketOf(to - 1)).toBe(bucket);
    }
  });
});

describe('the learned horizon', () => {
  test('is a month before anything was seen', () => {
    const { horizon, expectedShare } = learnHorizon([], rules);
    expect(horizon / day).toBeGreaterThan(29);
    expect(horizon / day).toBeLessThan(34);
    expect(expectedShare).toBeNull();
  });

  test('shrinks to what was seen as the evidence grows', () => {
    const horizons = [10, 100, 1_000, 100_000].map((n) => learnHorizon(seen([2 * hour, n]), rules).horizon);
    expect([...horizons].sort((a, b) => b - a)).toEqual(horizons);
    expect(horizons.at(-1)).toBeLessThan(4 * hour);
  });

  test('covers the share and leaves the rest out where that saves most', () => {
    const histogram = seen([hour, 100_000], [20 * day, 50], [60 * day, 200]);
    const { bands, horizon, expectedShare } = learnHorizon(histogram, rules);
    expect(expectedShare).toBeGreaterThanOrEqual(0.999);
    expect(horizon).toBeGreaterThan(60 * day);
    expect(bands.some(({ from, to }) => from <= 20 * day && to > 20 * day)).toBe(false);
    expect(bands.reduce((sum, { from, to }) => sum + to - from, 0)).toBeLessThan(8 * day);
  });

  test('counts a change that a sample found for all that the sample did not see', () => {
    const histogram = seen([hour, 10_000], [40 * day, 1, 100]);
    expect(learnHorizon(histogram, rules).horizon).toBeGreaterThan(40 * day);
    expect(learnHorizon(seen([hour, 10_000], [40 * day, 1]), rules).horizon).toBeLessThan(day);
  });

  test('says what share it misses when changes come later than the longest horizon', () => {
    const { expectedShare, horizon } = learnHorizon(seen([hour, 99], [200 * day, 1]), rules);
    expect(horizon).toBe(90 * day);
    expect(expectedShare).toBeCloseTo(0.99);
  });

  test('keeps a fixed horizon, whatever was seen', () => {
    const { horizon, beyond } = learnHorizon(seen([40 * day, 100]), { ...rules, horizon: 7 * day });
    expect(horizon).toBe(7 * day);
    expect(beyond.at(-1)?.to).toBe(90 * day);
  });
});
