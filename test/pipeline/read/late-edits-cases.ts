/** How many late edits the learned horizon catches, at how many requests, beside a fixed one of 7 days. */
import { describe, expect, test } from 'vitest';
import { day, exponentialAges, type LateEditsOptions, runLateEdits, uniformAges } from './late-edits-model.ts';

type Size = Pick<LateEditsOptions, 'days' | 'callsPerDay'>;

const compare = (size: Size, name: string, ageOf: LateEditsOptions['ageOf']) => {
  const learned = runLateEdits({ ...size, editShare: 0.05, ageOf, sample: 0.01 });
  const fixed = runLateEdits({ ...size, editShare: 0.05, ageOf, sample: 0, horizon: 7 * day });
  for (const [policy, result] of Object.entries({ learned, fixed })) {
    console.log(
      `${name}, ${policy} horizon: ${(result.caughtInTime * 100).toFixed(3)} % of ${result.edits} edits within a day, ` +
        `${result.requestsPerDay.toFixed(0)} requests a day (${result.settledRequestsPerDay.toFixed(0)} settled), ` +
        `horizon ${result.horizonDays.toFixed(1)} days`,
    );
  }
  return { learned, fixed };
};

export const describeLateEdits = (size: Size): void => {
  describe('late edits', () => {
    test.each([
      ['exponential up to 10 days', exponentialAges(10)],
      ['uniform up to 10 days', uniformAges(10)],
    ])('%s are caught by the learned horizon and not by 7 days', (name, ageOf) => {
      const { learned, fixed } = compare(size, name, ageOf);
      expect(learned.caughtInTime).toBeGreaterThanOrEqual(0.999);
      expect(fixed.caughtInTime).toBeLessThan(0.99);
      expect(learned.horizonDays).toBeLessThan(11);
      expect(learned.settledRequestsPerDay).toBeLessThan(2 * fixed.settledRequestsPerDay);
    });

    test('within a day of the call cost fewer requests than 7 days', () => {
      const { learned, fixed } = compare(size, 'exponential up to 1 day', exponentialAges(1));
      expect(learned.caughtInTime).toBeGreaterThanOrEqual(0.999);
      expect(learned.settledRequestsPerDay).toBeLessThan(fixed.settledRequestsPerDay);
    });

    test('that begin to come later are found by the sample; without one the horizon would confirm itself', () => {
      const change = 20_000 * day + 10 * day;
      const ageOf = (random: number, callAt: number): number =>
        (callAt >= change && random > 0.7 ? 20 + random : random / 2) * day;
      const options = { ...size, days: 120, editShare: 0.05, ageOf };
      const sampled = runLateEdits({ ...options, sample: 0.01 });
      const blind = runLateEdits({ ...options, sample: 0 });
      console.log(
        `edits of which 30 % begin to come 21 days late: with a sample of 1 % the horizon ends at ` +
          `${sampled.horizonDays.toFixed(1)} days (${(sampled.caught * 100).toFixed(2)} % found), ` +
          `without at ${blind.horizonDays.toFixed(1)} (${(blind.caught * 100).toFixed(2)} %)`,
      );
      expect(sampled.horizonDays).toBeGreaterThan(20);
      expect(sampled.caught).toBeGreaterThan(0.999);
      expect(blind.horizonDays).toBeLessThan(10);
    });
  });
};
