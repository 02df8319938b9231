import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listConfigSchema } from '../../schemas/config/list.ts';
import { createAges } from '../../src/calls/age.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import { importObservedAt } from '../../src/calls/fold.ts';
import { formatTimestamp, parseTimestamp } from '../../src/lib/timestamps.ts';
import { axisTime } from '../../src/source/list/list-query.ts';
import { inheritedNames, withInheritedNames } from '../support/inherited-names.ts';

const micros = (iso: string): number => Date.parse(iso) * 1000;
const second = micros('2023-12-04T15:18:29Z');

const forms: readonly (readonly [value: unknown, at: number])[] = [
  ['2023-12-04T15:18:29Z', second],
  ['2023-12-04T15:18:29', second],
  ['2023-12-04 15:18:29', second],
  [' 2023-12-04T15:18:29Z', second],
  ['2023-12-04T15:18Z', micros('2023-12-04T15:18:00Z')],
  ['2023-12-04', micros('2023-12-04T00:00:00Z')],
  ['2023-12-04T15:18:29.1Z', second + 100_000],
  ['2023-12-04T15:18:29.123456Z', second + 123_456],
  ['2023-12-04T15:18:29,123456789Z', second + 123_456],
  ['2023-12-04T15:18:29.1234567891234Z', second + 123_456],
  ['2023-12-04T15:18:29+02:00', micros('2023-12-04T13:18:29Z')],
  ['2023-12-04T15:18:29-0530', micros('2023-12-04T20:48:29Z')],
  ['2023-12-04T15:18:29 +01', micros('2023-12-04T14:18:29Z')],
  ['2024-02-29T00:00:00Z', micros('2024-02-29T00:00:00Z')],
  ['2016-12-31T23:59:60Z', micros('2017-01-01T00:00:00Z')],
  ['1969-12-31T23:59:59.999999Z', -1],
  [second / 1e6, second],
  [second / 1e6 + 0.5, second + 500_000],
  [second / 1e3, second],
  [String(second / 1e3), second],
  [String(second / 1e6), second],
];

test.each([
  '',
  null,
  {},
  'yesterday',
  5,
  '5',
  Number.NaN,
  Number.POSITIVE_INFINITY,
  ...'2023-13-01T00:00:00Z 2023-02-29T00:00:00Z 2023-02-29 2023-00-10T00:00:00Z 2023-12-04T24:00:00Z'.split(' '),
  ...'2023-12-04T10:60:00Z 2023-12-04T10:00:61Z 2023-12-04T10:00:00+24:00 2023-12-04T10:00:00+05:60'.split(' '),
  ...'2023-12-04T10:00:00ZZ ٢٠٢٣-12-04T10:00:00Z 0001-01-01T00:00:00Z 9999-12-31T23:59:59Z'.split(' '),
  ...'1683-12-31T23:59:59Z'.split(' '),
])('%j is none', (value) => {
  expect(parseTimestamp(value)).toBeUndefined();
});

test('any instant that is exact comes back', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date('1685-01-01'), max: new Date('2255-01-01'), noInvalidDate: true }), (at) => {
      expect(parseTimestamp(at.toISOString())).toBe(at.getTime() * 1000);
    }),
  );
});

test('bounds are written as they are read', () => {
  const instant = second + 123_000;
  const written = (['iso', 'iso_seconds', 'epoch_s', 'epoch_ms'] as const).map((form) =>
    formatTimestamp(instant, form),
  );
  expect(written).toEqual(['2023-12-04T15:18:29.123Z', '2023-12-04T15:18:29Z', '1701703109', '1701703109123']);
});

test('an age takes fields of a call, whatever their names', () => {
  const ages = createAges({ transcripts: 1 } as never);
  const fields = { timestamp: '2023-12-04', transcript_json: {}, ...withInheritedNames(1) };
  const kept = ages.age({ callId: 'a', source: 'poll', observedAt: 0, fields }).fields;
  expect(Object.keys(kept).sort()).toEqual(['timestamp', ...inheritedNames].sort());
});

describe('a call has the same time in list, rows, ages and imports', () => {
  const list = listConfigSchema.parse({});
  const rules = { processedField: 'qualified', now: Date.now() * 1000, clockSkew: 0 };
  test.each(forms)('%j', (timestamp, at) => {
    const record = { unique_id: 'a', timestamp };
    expect(axisTime(list, 'timestamp', record)).toBe(at);
    const seen = { firstSeenAt: null, changedAt: null, sourceDeletedAt: null };
    expect(flattenCall({ callId: 'a', document: record, ...seen }).callTimestamp).toBe(at);
    expect(importObservedAt(record, rules)).toBe(at);
    expect(createAges({ calls: 1_000 } as never, () => at / 1000 + 2_000).isExpired(record)).toBe(true);
  });
});
