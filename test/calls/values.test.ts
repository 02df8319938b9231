import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { callFields } from '../../schemas/call.ts';
import { listConfigSchema } from '../../schemas/config/list.ts';
import { tableOf } from '../../schemas/tables.ts';
import { createAges } from '../../src/calls/age.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import { importObservedAt, observeDelivery } from '../../src/calls/fold.ts';
import { JsonRecord, scanFields } from '../../src/lib/json-record.ts';
import { formatTimestamp, isoMicros, parseTimestamp } from '../../src/lib/timestamps.ts';
import { axisOf } from '../../src/source/list/list-query.ts';
import { canonicalDecimal } from '../../src/warehouse/content-hash.ts';
import { forAll } from '../support/for-all.ts';
import { inheritedNames, withInheritedNames } from '../support/inherited-names.ts';

const unseen = { callId: 'a', firstSeenAt: null, changedAt: null, sourceDeletedAt: null };
const rowsOf = (document: Record<string, unknown>) => flattenCall({ ...unseen, document }).rows;
const decimalOf = (text: string) => rowsOf({ metadata: { UDF_num_01: text } }).udfs[0]?.value_number ?? undefined;
const numberOf = (text: string) => rowsOf({ duration: text }).calls[0]?.duration ?? undefined;
const phoneOf = (data: string) => rowsOf({ in: { type: 'PHONE', data } }).contacts[0]?.phone ?? undefined;

const digits = '9'.repeat(38);
const none = (text: string): [string] => [text];

test.each<[string, string?]>([
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
  ...['', '1 000', `1${digits}`, `0.0${digits}`, '--1', '١'].map(none),
  ...'. - e5 1e 1,5 n/a NaN Infinity 0x10 1e38 1e-39 1e9999 1e99999'.split(' ').map(none),
])('decimals: %j → %s', (text, expected) => {
  expect(decimalOf(text)).toBe(expected);
});

test('decimals agree with the reading of the digests', () =>
  forAll([fc.tuple(fc.integer(), fc.nat(), fc.integer({ min: -20, max: 15 }))], {}, ([whole, part, exponent]) => {
    const text = `${whole}.${part}e${exponent}`;
    const parsed = decimalOf(text);
    if (parsed !== undefined) expect(canonicalDecimal(text)).toBe(parsed);
  }));

test.each<[string, (text: string) => unknown, (number | string)?]>([
  ['123', numberOf, 123],
  ['124.50', numberOf, 124.5],
  ['-1e3', numberOf, -1000],
  [' 7 ', numberOf, 7],
  ['.5', numberOf, 0.5],
  ...['', '0x10', '1e999', '1,5', 'Infinity', '12 s'].map((text): [string, typeof numberOf] => [text, numberOf]),
  ['+33 1 23-45.67', phoneOf, '+331234567'],
  ['0033123456', phoneOf, '+33123456'],
  ['33123456789', phoneOf, '33123456789'],
  ['(01) 23', phoneOf, '0123'],
  ['00', phoneOf, '00'],
  ['0012', phoneOf, '0012'],
  ...['', 'anonymous', '+'].map((text): [string, typeof phoneOf] => [text, phoneOf]),
])('numbers and phones: %j, %o → %s', (text, read, expected) => {
  expect(read(text)).toBe(expected);
});

const arrival = 1_701_699_087_811_560;
const allowed = arrival + 120_000_000;

test.each([
  ['its id within 15 minutes', '1701699000.5', 1_701_699_000_500_000],
  ['its id a little in the future', '1701699100.0', 1_701_699_100_000_000],
  ['never later than the allowed skew', '1701699900', allowed],
  ['its id also when that is old', '1701690000.1', 1_701_690_000_100_000],
  ['the arrival for a number that counts something else', '1701', arrival],
  ['the arrival when the id is far in the future', '1801690000', arrival],
  ['the arrival for milliseconds', '1701699087811.5', arrival],
  ['the arrival for no number', 'abc', arrival],
  ['the arrival for a signed number', '-1701699000', arrival],
  ['the arrival for an exponent', '1.7e9', arrival],
  ['the arrival without an id', null, arrival],
])('the time of a delivery is %s', (_, id, expected) => {
  const read = observeDelivery({ unique_id: 'a' }, id, arrival, 120_000_000);
  expect(read).toMatchObject({ observation: { callId: 'a', source: 'webhook', observedAt: expected } });
});

test.each([
  ['1701698200', 120, false],
  ['1701698100', 120, true],
  ['1701698100', 1_200, false],
  ['1701', 120, false],
])('a delivery is late beyond 15 minutes, or beyond the skew where that is longer: %s, %i s', (id, skew, isLate) => {
  expect(observeDelivery({ unique_id: 'a' }, id, arrival, skew * 1_000_000)).toMatchObject({ isLate });
});

const micros = (iso: string): number => Date.parse(iso) * 1000;
const second = micros('2023-12-04T15:18:29Z');
const inThatSecond = (value: unknown) => [value, second] as const;

const forms: readonly (readonly [value: unknown, at: number])[] = [
  ...['2023-12-04T15:18:29Z', '2023-12-04T15:18:29', '2023-12-04 15:18:29', ' 2023-12-04T15:18:29Z'].map(inThatSecond),
  ...['Mon, 04 Dec 2023 15:18:29 GMT', '20231204151829', second / 1e6, second / 1e3].map(inThatSecond),
  ...[String(second / 1e3), String(second / 1e6), `${second}000`, '2023-12-04t15:18:29z'].map(inThatSecond),
  ['2023-12-04T15:18Z', micros('2023-12-04T15:18:00Z')],
  ['2023-12-04', micros('2023-12-04T00:00:00Z')],
  ['2023-12-04T15:18:29.1Z', second + 100_000],
  ['2023-12-04T15:18:29.123456Z', second + 123_456],
  ['2023-12-04T15:18:29,123456789Z', second + 123_456],
  ['2023-12-04T15:18:29.1234567891234Z', second + 123_456],
  [`${second + 123_456}999`, second + 123_456],
  ['2023-12-04T15:18:29+02:00', micros('2023-12-04T13:18:29Z')],
  ['2023-12-04T15:18:29-0530', micros('2023-12-04T20:48:29Z')],
  ['2023-12-04T15:18:29 +01', micros('2023-12-04T14:18:29Z')],
  ['20231204T151829.5+0100', micros('2023-12-04T14:18:29.500Z')],
  ['4 Dec 2023 15:18:29 +0200', micros('2023-12-04T13:18:29Z')],
  ['2024-02-29T00:00:00Z', micros('2024-02-29T00:00:00Z')],
  ['2016-12-31T23:59:60Z', micros('2017-01-01T00:00:00Z')],
  ['1969-12-31T23:59:59.999999Z', -1],
  [second / 1e6 + 0.5, second + 500_000],
];

test.each([
  ...['', null, {}, 'yesterday', 5, '5', 20231204151829, Number.NaN, Number.POSITIVE_INFINITY],
  ...'2023-13-01T00:00:00Z 2023-02-29T00:00:00Z 2023-02-29 2023-00-10T00:00:00Z 2023-12-04T24:00:00Z'.split(' '),
  ...'2023-12-04T10:60:00Z 2023-12-04T10:00:61Z 2023-12-04T10:00:00+24:00 2023-12-04T10:00:00+05:60'.split(' '),
  ...'2023-12-04T10:00:00ZZ ٢٠٢٣-12-04T10:00:00Z 0001-01-01T00:00:00Z 9999-12-31T23:59:59Z'.split(' '),
  ...'1683-12-31T23:59:59Z 638372999091234567 202312041518291234'.split(' '),
  ...['04 Foo 2023 15:18:29', '01 Jan 0001 00:00:00', '31 Feb 2024 10:00:00', '31 Dec 9999 23:59:59'].map(
    (text) => `Mon, ${text} GMT`,
  ),
  'Mon, 04 Dec 2023 15:18:29 +9999',
])('%j is none', (value) => {
  expect(parseTimestamp(value)).toBeUndefined();
});

test('any instant that is exact comes back, and bounds are written as they are read', async () => {
  const exact = fc.date({ min: new Date('1685-01-01'), max: new Date('2255-01-01'), noInvalidDate: true });
  await forAll([exact], {}, (at) => expect(parseTimestamp(at.toISOString())).toBe(at.getTime() * 1000));
  const forms = ['iso', 'iso_seconds', 'datetime', 'date', 'epoch_s', 'epoch_ms'] as const;
  const written = forms.map((form) => formatTimestamp(second + 123_000, form));
  const text = '2023-12-04T15:18:29.123Z 2023-12-04T15:18:29Z 2023-12-04_15:18:29 2023-12-04 1701703109 1701703109123';
  expect(written.map((bound) => bound.replace(' ', '_'))).toEqual(text.split(' '));
  const ends = ['0001-01-01T00:00:00.000001Z', '1969-12-31T23:59:59.999999Z', '1970-01-01T00:00:00.001Z'];
  expect(['-62135596799999999', '-1', '1000'].map(isoMicros)).toEqual(ends);
});

const agedBy = (ages: ReturnType<typeof createAges>, fields: object) =>
  ages.age({
    callId: 'a',
    source: 'poll',
    observedAt: 0,
    fields: new JsonRecord({ timestamp: '2023-12-04', ...fields }),
  });

test('an age takes fields of a call, whatever their names', () => {
  const { fields } = agedBy(createAges({ transcripts: 1 } as never), { transcript_json: {}, ...withInheritedNames(1) });
  expect(Object.keys(JSON.parse(JSON.stringify(fields))).sort()).toEqual(['timestamp', ...inheritedNames].sort());
});

test('an age leaves the hashes of values that transcripts are searched for', () => {
  const { fields } = agedBy(createAges({ freeFields: 1 }), { callsync_known: ['abcdefghij'], visit: {} });
  expect(fields.held).toEqual({ timestamp: '2023-12-04', callsync_known: ['abcdefghij'] });
});

test('an age leaves the fields that callsync needs, by their paths, and nothing beside them', () => {
  const ages = createAges({ freeFields: 1, transcripts: 1 }, Date.now, ['times.closed', 'metadata.a.b', 'metadata.c']);
  const fields = { times: { closed: 1, other: 2 }, metadata: { a: { b: 3, x: 4 }, c: 5, y: 6 }, visit: {} };
  const aged = agedBy(ages, { transcript_json: {}, ...fields });
  const metadata = { a: { b: 3 }, c: 5 };
  expect(aged.fields.held).toEqual({ timestamp: '2023-12-04', times: { closed: 1 }, metadata });
  expect(ages.age(aged)).toBe(aged);
});

test('an import takes the end of processing by its path', () => {
  const record = new JsonRecord({ timestamp: '2023-12-04', times: { closed: '2023-12-05' } });
  expect(importObservedAt(record, { ...rules, processedField: 'times.closed' })).toBe(Date.UTC(2023, 11, 5) * 1000);
});

const list = listConfigSchema.parse({});
const rules = { processedField: 'qualified', now: Date.now() * 1000, clockSkew: 0 };

test.each(forms)('a call has the same time in list, rows, ages and imports: %j', (timestamp, at) => {
  const record = new JsonRecord({ unique_id: 'a', timestamp });
  expect(parseTimestamp(record.at(axisOf(list, 'timestamp').record_field))).toBe(at);
  expect(flattenCall({ ...unseen, document: record }).callTimestamp).toBe(at);
  expect(importObservedAt(record, rules)).toBe(at);
  expect(createAges({ calls: 1_000 } as never, () => at / 1000 + 2_000).isExpired(record)).toBe(true);
});

const number = fc.oneof(
  fc.maxSafeInteger().map((parts) => parts / 2 ** 53),
  fc.integer({ min: -1e6, max: 1e6 }).map((cents) => cents / 1000),
  fc.integer(),
);
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', '"words":[', 'été', '\u0000'));
const usual = fc.record({ value: text, start: number, length: number, score: number });
const odd = fc.oneof(
  fc.record({ value: text, start: number, length: number, score: number, speaker: text }, { requiredKeys: [] }),
  fc.record({ value: number, start: text, length: fc.constant(null), score: fc.jsonValue() }),
  fc.constantFrom(null, 1, [], 'word'),
);
const words = fc.oneof(
  { weight: 6, arbitrary: fc.array(usual, { maxLength: 5 }) },
  fc.array(fc.oneof(usual, odd), { maxLength: 3 }),
  fc.jsonValue(),
);
const transcripts = fc.record({
  callData: fc.array(fc.record({ from: text, words, content: text }), { maxLength: 3 }),
  meta: fc.oneof(fc.record({ lang: text, words }), fc.jsonValue()),
});

const flattenBytes = (bytes: Buffer) =>
  flattenCall({ ...unseen, document: new JsonRecord({ transcript_json: bytes }) });

test('words that are read out of bytes make the same rows as parsed ones', () =>
  forAll([transcripts], { numRuns: 300 }, (transcript) => {
    const bytes = Buffer.from(JSON.stringify(transcript));
    const [field] = scanFields(Buffer.from(`{"transcript_json":${bytes}}`), 0)?.fields ?? [];
    fc.pre(field?.plain === true);
    const document = { transcript_json: JSON.parse(bytes.toString()) };
    expect(flattenBytes(bytes)).toEqual(flattenCall({ ...unseen, document }));
  }));

test('usual words are not parsed', () => {
  const bytes = Buffer.from('{"callData":[{"words":[{"score":0.937,"start":14,"value":"été","length":1.15}]}]}');
  const parse = vi.spyOn(JSON, 'parse');
  flattenBytes(bytes);
  const parsed = parse.mock.calls.join();
  parse.mockRestore();
  expect(parsed).toBe('{"callData":[{"words":"\\u00000"}]}');
});

test('each field that a column of calls is read from has an age', () => {
  const read = tableOf('calls').columns.flatMap(({ from = '=' }) => (from.startsWith('=') ? [] : from.split('.')[0]));
  expect(read.length).toBeGreaterThan(10);
  expect(read.filter((name) => !callFields.has(name ?? ''))).toEqual([]);
});
