import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { flattenCall } from '../../src/calls/flatten.ts';
import { webhookObservedAt } from '../../src/calls/fold.ts';
import { canonicalDecimal } from '../../src/warehouse/digest.ts';

const rowsOf = (document: Record<string, unknown>) =>
  flattenCall({ callId: 'a', document, firstSeenAt: null, changedAt: null, sourceDeletedAt: null }).rows;
const decimalOf = (text: string) => rowsOf({ metadata: { UDF_num_01: text } }).udfs[0]?.value_number ?? undefined;
const numberOf = (text: string) => rowsOf({ duration: text }).calls[0]?.duration ?? undefined;
const phoneOf = (data: string) => rowsOf({ in: { type: 'PHONE', data } }).contacts[0]?.phone ?? undefined;

describe('decimals', () => {
  const digits = '9'.repeat(38);
  test.each([
    ['5', '5'],
    ['+5', '5'],
    ['-5.50', '-5.5'],
    [' 12.30 ', '12.3'],
    ['007', '7'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['-0', '0'],
    ['-0.00', '0'],
    ['1e3', '1000'],
    ['1.5E-3', '0.0015'],
    ['123e-5', '0.00123'],
    ['1e37', `1${'0'.repeat(37)}`],
    [digits, digits],
    [`0.${digits}`, `0.${digits}`],
    [`-${digits}.${digits}`, `-${digits}.${digits}`],
    [`1.${'0'.repeat(200)}`, '1'],
  ])('%s → %s', (text, expected) => {
    expect(decimalOf(text)).toBe(expected);
  });

  test.each([
    '',
    ...'. - e5 1e 1,5'.split(' '),
    '1 000',
    ...'n/a NaN Infinity 0x10 1e38 1e-39 1e9999 1e99999'.split(' '),
    `1${digits}`,
    `0.0${digits}`,
    '--1',
    '١',
  ])('%j is none', (text) => {
    expect(decimalOf(text)).toBeUndefined();
  });

  test('agree with the reading of the digests', () => {
    fc.assert(
      fc.property(fc.tuple(fc.integer(), fc.nat(), fc.integer({ min: -20, max: 15 })), ([whole, part, exponent]) => {
        const text = `${whole}.${part}e${exponent}`;
        const parsed = decimalOf(text);
        if (parsed !== undefined) expect(canonicalDecimal(text)).toBe(parsed);
      }),
    );
  });
});

test.each([
  ['123', 123],
  ['124.50', 124.5],
  ['-1e3', -1000],
  [' 7 ', 7],
  ['.5', 0.5],
  ['', undefined],
  ['0x10', undefined],
  ['1e999', undefined],
  ['1,5', undefined],
  ['Infinity', undefined],
  ['12 s', undefined],
])('number text %j → %s', (text, expected) => {
  expect(numberOf(text)).toBe(expected);
});

test.each([
  ['+33 1 23-45.67', '+331234567'],
  ['0033123456', '+33123456'],
  ['33123456789', '33123456789'],
  ['(01) 23', '0123'],
  ['00', '00'],
  ['0012', '0012'],
  ['', undefined],
  ['anonymous', undefined],
  ['+', undefined],
])('phone %j → %s', (text, expected) => {
  expect(phoneOf(text)).toBe(expected);
});

describe('the time of a delivery', () => {
  const arrival = 1_701_699_087_811_560;
  const second = 1_000_000;
  test.each([
    ['its id within 15 minutes', '1701699000.5', 1_701_699_000_500_000],
    ['its id a little in the future', '1701699100.0', 1_701_699_100_000_000],
    ['never later than the allowed skew', '1701699900', arrival + 120 * second],
    ['its id also when that is old', '1701690000.1', 1_701_690_000_100_000],
    ['the arrival for a number that counts something else', '1701', arrival],
    ['the arrival when the id is far in the future', '1801690000', arrival],
    ['the arrival for milliseconds', '1701699087811.5', arrival],
    ['the arrival for no number', 'abc', arrival],
    ['the arrival for a signed number', '-1701699000', arrival],
    ['the arrival for an exponent', '1.7e9', arrival],
    ['the arrival without an id', null, arrival],
  ])('%s', (_, id, expected) => {
    expect(webhookObservedAt(id, arrival, 120 * second).observedAt).toBe(expected);
  });

  test('is late beyond 15 minutes, or beyond the skew where that is longer', () => {
    const isLate = (id: string, skew: number) => webhookObservedAt(id, arrival, skew * second).isLate;
    const expected = [false, true, false];
    expect([isLate('1701698200', 120), isLate('1701698100', 120), isLate('1701698100', 1_200)]).toEqual(expected);
    expect(isLate('1701', 120)).toBe(false);
  });
});
