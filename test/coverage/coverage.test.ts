import { expect, test } from 'vitest';
import { buildCoverage, drawCoverage } from '../../src/health/coverage/coverage.ts';
import type { StoredVerdict, VerdictOutcome } from '../../src/store/windows/verdicts.ts';

const day = 86_400_000_000;
const start = (Date.parse('2025-03-01T00:00:00Z') / 1000) * 1e6;
const verdict = (warehouse: string, at: number, outcome: VerdictOutcome, length = 1, healed = 0): StoredVerdict => {
  const window = { window_from: start + at * day, window_to: start + (at + length) * day };
  return { warehouse, ...window, outcome, healed, excluded: 0 } as StoredVerdict;
};
const deliveries = (at: number, both: number, pollOnly = 0) => ({
  ...{ from: start + at * day, calls: both + pollOnly, both, pollOnly, webhookOnly: 0, importOnly: 0, missing: 0 },
});
const input: Parameters<typeof buildCoverage>[0] = {
  from: start,
  to: start + 6 * day,
  warehouses: ['main', 'second'],
  read: [{ from: start, to: start + 4.5 * day }],
  verdicts: [
    verdict('main', 0, 'unproven', 3),
    verdict('main', 0, 'proven', 1),
    verdict('main', 1, 'healed', 1, 12),
    verdict('second', 0, 'proven', 2),
    verdict('main', 3, 'suspicious_empty'),
  ],
  deliveries: [deliveries(0, 1_000), deliveries(1, 450, 50), deliveries(2, 100), deliveries(4, 10)],
  webhooks: { since: start, expected: 1_610, lost: 50, lossRate: 50 / 1_610, lagP50: 1.5, lagP95: 75 },
};

const coverage = buildCoverage(input);

test('takes the latest verdict of each warehouse, and the worst of them for the day', () => {
  const expected = ['proven', 'healed', 'unproven', 'suspicious_empty', 'read', 'unread'];
  expect(coverage.days.map((one) => one.state)).toEqual(expected);
  expect(coverage.days[1]?.byWarehouse).toEqual({ main: 'healed', second: 'proven' });
  expect(coverage.days[4]?.shares).toMatchObject({ unproven: 0, read: 0.5, unread: 0.5 });
  for (const one of coverage.days)
    expect(Object.values(one.shares).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  expect(coverage.deliveries).toMatchObject({ calls: 1_610, both: 1_560, pollOnly: 50 });
});

test('a day whose proof was withdrawn waits for a comparison; a failed comparison leaves it unproven', () => {
  const stateAfter = (compared_by: string) =>
    buildCoverage({
      ...{ ...input, to: start + day, warehouses: ['main'] },
      verdicts: [verdict('main', 0, 'proven'), { ...verdict('main', 0, 'unproven'), compared_by }],
    }).days[0]?.state;
  expect(stateAfter('none')).toBe('read');
  expect(stateAfter('0.1.0')).toBe('unproven');
});

test('judges a day that has not ended by its part that has', () => {
  const half = { to: start + 0.5 * day, warehouses: ['main'], verdicts: [verdict('main', 0, 'proven')] };
  expect(buildCoverage({ ...input, ...half }).days).toMatchObject([{ state: 'proven', to: half.to }]);
});

test('draws a line a day, and names one call in the singular', () => {
  const one = buildCoverage({ ...input, warehouses: ['main'], verdicts: [verdict('main', 0, 'healed', 1, 1)] });
  expect(drawCoverage(one)).toMatch(/healed \(1 call\)/);
  const untimed = { ...one, webhooks: { ...one.webhooks, lagP50: null, lagP95: null } };
  expect(drawCoverage(untimed)).toContain('lag unknown: no delivered call has an end of processing');
  expect(drawCoverage(coverage)).toMatchInlineSnapshot(`
    "Days (UTC) by the calls' own time; warehouses: main, second

    2025-03-01      1,000  ✓ proven
    2025-03-02        500  + healed (12 calls)
    2025-03-03        100  ? unproven
    2025-03-04          0  ! suspiciously empty
    2025-03-05         10  ○ read, not compared yet, 50.00 % unread
    2025-03-06          0  · unread

    Calls: 1,610
      webhook and poll      1,560  96.89 %
      poll only                50  3.11 %
      webhook only              0  0.00 %
      import only               0  0.00 %
    Webhooks since 2025-03-01 00:00 UTC: 3.11 % lost (50 of 1,610 calls), lag p50 1.5 s, p95 75 s"
  `);
});
