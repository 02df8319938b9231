import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonRecord, readRecord, scanFields } from '../../src/lib/json-record.ts';
import { parseQuietly } from '../../src/lib/parse-json.ts';
import { readPageBody } from '../../src/source/list/page-body.ts';
import { forAll } from '../support/for-all.ts';
import { inheritedNames } from '../support/inherited-names.ts';

const scan = (text: string) => scanFields(Buffer.from(text), 0);

/** Bytes removed, repeated or replaced by bytes of JSON. */
const mutate = (text: string, cuts: readonly { at: number; what: string; remove: number }[]): string =>
  cuts.reduce((current, { at, what, remove }) => {
    const place = at % (current.length + 1);
    return current.slice(0, place) + what + current.slice(place + remove);
  }, text);

const bits = ['', ' ', '\n', '\u0001', ...'" \\ \\u00e9 \\x , : { } [ ] 0 - . e1 null tru é'.split(' ')];
const mutation = fc.record({ at: fc.nat(2_000), what: fc.constantFrom(...bits), remove: fc.nat(2) });
const mutations = fc.array(mutation, { maxLength: 3 });

test('scanning a record accepts what JSON.parse accepts, and finds the same fields', async () => {
  let [accepted, refused] = [0, 0];
  const records = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom(...inheritedNames)), fc.jsonValue());
  await forAll([records, fc.constantFrom(undefined, 1), mutations], { numRuns: 1_600 }, (value, indent, cuts) => {
    const text = mutate(JSON.stringify(value, undefined, indent), cuts);
    if (!text.startsWith('{')) return;
    const found = scan(text);
    if (found === undefined || found.to < Buffer.byteLength(text.replace(/[ \t\r\n]+$/, ''))) {
      refused += 1;
      expect(parseQuietly(Buffer.from(text))).toBeUndefined();
      return;
    }
    accepted += 1;
    const bytes = Buffer.from(text);
    const read = found.fields.map(({ name, from, to }) => [name, JSON.parse(bytes.toString('utf8', from, to))]);
    expect(Object.fromEntries(read)).toEqual(JSON.parse(text));
  });
  expect([accepted > 400, refused > 200]).toEqual([true, true]);
});

test('scanning a record calls a field plain when JSON.stringify would write the same bytes', async () => {
  const numbers = fc.double({ min: -1e15, max: 1e15, noNaN: true });
  await forAll([fc.string({ unit: 'grapheme' }), numbers, fc.integer()], { numRuns: 400 }, (word, number, whole) => {
    // Escapes by number and numbers below a hundredth are left to the parser, which costs time and nothing else.
    fc.pre(!JSON.stringify(word).includes('\\u') && (number === 0 || Math.abs(number) >= 0.01));
    const text = JSON.stringify({ a: { word, list: [number, whole, null, true] } });
    expect(scan(text)?.fields.map((field) => field.plain)).toEqual([true]);
  });
  const plain = (value: string): boolean | undefined => scan(`{"a":${value}}`)?.fields[0]?.plain;
  const odd = '1.0 -0 1e5 1E400 0.0000001 123456789012345678 9007199254740993 0.10000000000000001'.split(' ');
  for (const value of [...odd, '[1, 2]', '{"a" :1}', '"\\u0041"', '"\\/"', '{"b":1,"1":2}'])
    expect([value, plain(value)]).toEqual([value, false]);
  for (const json of '0.9342876672744751 12345678901234567000 1 -1.5 0.05 "é" "\\n" [] {} [1,{"b":null}]'.split(' '))
    expect(plain(json)).toBe(true);
  const long = readRecord(Buffer.from('{"a":[-9007199254740993,12345678901234567000,"x, 9007199254740993"]}'));
  const kept = ['-9007199254740993', 1.2345678901234567e19, 'x, 9007199254740993'];
  expect(long.value).toEqual(new JsonRecord({ a: kept }));
});

const words = Array.from({ length: 100 }, (_, n) => ({ value: `word${n}`, start: n / 4 }));
const rest = { timestamp: '2026-01-01T00:00:00Z', transcript_json: { callData: [{ words }] }, tags: [] };
const record = (id: number) => ({ unique_id: `call-${id}`, ...rest });
/** Fields that stay bytes. */
const keptBytes = ({ value }: { readonly value: unknown }): string[] => {
  const record = JsonRecord.of(value);
  return record?.names.filter((name) => record.json(name)) ?? [];
};

const read = (body: Buffer) => {
  const page = readPageBody(body, 'data');
  if (typeof page === 'string') throw new Error(page);
  return [...page.parts(1 << 20)].flat().map((found) => ({ ...found, bytes: found.bytes().toString() }));
};

test('a page whose transcripts stay bytes gives its body back; reading it afterwards fails', () => {
  const read = (count: number) => {
    const records = Array.from({ length: count }, (_, index) => record(index));
    const body = Buffer.from(` ${JSON.stringify({ data: records })}`);
    const page = readPageBody(body, 'data');
    if (typeof page === 'string') throw new Error(page);
    const [first] = [...page.parts(1 << 20)].flat();
    if (page.memory) structuredClone(undefined, { transfer: [page.memory] });
    return { body, read: () => JsonRecord.of(first?.value)?.value('transcript_json') };
  };
  const [small, large] = [read(1), read(100)];
  expect([small.body.length === 0, large.body.length]).toEqual([false, 0]);
  expect(large.read).toThrow(SyntaxError);
});

test('a page whose transcripts stay bytes leaves odd JSON, repeated names and bad UTF-8 to the parser', () => {
  const spaced = JSON.stringify(record(1), undefined, 1);
  const twice = JSON.stringify(record(2)).replace('"tags":[]', '"timestamp":"2026-02-02T00:00:00Z"');
  const broken = JSON.stringify(record(3)).replace('"start":12.5', '"start":tru');
  const text = `{"data":[${[spaced, twice, broken, ...Array.from({ length: 20 }, (_, index) => JSON.stringify(record(index + 4)))].join(',')}]}`;
  const found = read(Buffer.from(text));
  expect(found.map(keptBytes)).toEqual([[], [], [], ...Array(20).fill(['transcript_json'])]);
  expect([found[0]?.value, found[2]?.value, found[2]?.bytes]).toEqual([new JsonRecord(record(1)), undefined, broken]);
  expect(found[1]?.value).toMatchObject({ held: { timestamp: '2026-02-02T00:00:00Z' } });
  const bad = Buffer.from(text);
  bad[bad.indexOf('word50"', bad.indexOf('call-4'))] = 0xff;
  expect(read(bad).flatMap(keptBytes)).toEqual([]);
  const others = [text.slice(0, -9), '{"rows":[]}'].map((json) => readPageBody(Buffer.from(json), 'data'));
  expect(others).toEqual(['malformed', 'no_array']);
});
