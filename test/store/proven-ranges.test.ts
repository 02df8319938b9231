import { expect, test } from 'vitest';
import { provenRanges } from '../../src/store/windows/verdicts.ts';

type Verdict = Parameters<typeof provenRanges>[0][number];
const usual = { outcome: 'proven', level: 'fields', warehouse_level: 'guards' } as const;
const verdict = (window_from: number, window_to: number, more: Partial<Verdict> = {}): Verdict => ({
  ...{ window_from, window_to, ...usual, ...more },
});

const whole = verdict(0, 4, { warehouse_level: 'rows', level: 'records' });
const least = { source: 'fields', warehouse: 'rows' } as const;

test.each<[string, Verdict[], Parameters<typeof provenRanges>[1], string]>([
  ['nothing', [], {}, ''],
  ['healed counts as proven', [verdict(0, 1, { outcome: 'healed' }), verdict(1, 2)], {}, '0-2'],
  ['a gap stays', [verdict(0, 1), verdict(2, 3)], {}, '0-1 2-3'],
  ['a later bad verdict takes back', [verdict(0, 4), verdict(1, 2, { outcome: 'unproven' })], {}, '0-1 2-4'],
  ['a still later good one gives again', [verdict(0, 4, { outcome: 'suspicious_empty' }), verdict(0, 4)], {}, '0-4'],
  ['too low a level of the service', [verdict(0, 4)], { source: 'records' }, ''],
  ['too low a level of the warehouse', [verdict(0, 4)], { warehouse: 'rows' }, ''],
  ['a later good one of a lower level takes nothing back', [whole, verdict(0, 4, { level: 'ids' })], least, '0-4'],
  ['a later bad one of a lower level does', [whole, verdict(0, 4, { outcome: 'unproven' })], least, ''],
])('%s', (_name, verdicts, level, expected) => {
  const ranges = provenRanges(verdicts, level).map(({ from, to }) => `${from}-${to}`);
  expect(ranges.join(' ')).toBe(expected);
});
