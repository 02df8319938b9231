/** One look for many call ids finds what a search for each of them finds, and other ways to write them. */
import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQuietly } from '../../src/parse-json.ts';
import { createSealer } from '../../src/sealed.ts';
import { createNameFinder } from '../../src/store/delivery/name-finder.ts';

/** As a search for each by itself finds them, in the one way in which `JSON.stringify` writes them; but none behind a backslash. */
const findOneByOne = (ids: readonly string[], text: string): string[] =>
  [...new Set(ids)].filter((id) => {
    const written = `${id.length < 6 ? '"unique_id":' : ''}${JSON.stringify(id)}`;
    for (let at = text.indexOf(written); at !== -1; at = text.indexOf(written, at + 1))
      if (text[at - 1] !== '\\') return true;
    return false;
  });

/** Whether JSON of an id is anywhere in a text: what is between any two quotes is read. */
const isWrittenIn = (id: string, text: string): boolean => {
  const isNear = (from: number, to: number): boolean => to !== -1 && to - from <= 6 * id.length + 1;
  for (let from = text.indexOf('"'); from !== -1; from = text.indexOf('"', from + 1))
    for (let to = text.indexOf('"', from + 1); isNear(from, to); to = text.indexOf('"', to + 1)) {
      const written = text.slice(from + 1, to);
      if (written === id) return true;
      if (written.includes('\\') && parseQuietly(Buffer.from(`"${written}"`)) === id) return true;
    }
  return false;
};

const find = (ids: readonly string[], text: string | Buffer): string[] =>
  [...createNameFinder(ids)(Buffer.from(text as string))].sort();

test('ids that contain one another are told apart, and each is found beside the others', () => {
  const ids = ['call-1', 'call-10', 'xcall-1', 'call-1x'];
  expect(find(ids, '{"unique_id":"call-1"}')).toEqual(['call-1']);
  expect(find(ids, '["call-10","xcall-1"')).toEqual(['call-10', 'xcall-1']);
  expect(find(ids, 'call-1 "call-1')).toEqual([]);
  expect(find(['"call-1", "call-2"', 'call-1'], JSON.stringify('"call-1", "call-2"'))).toEqual(['"call-1", "call-2"']);
});

test('signs that mean something to LIKE and to expressions mean nothing', () => {
  const ids = ['call_1', 'call%1', 'c.*l-1', '(call1', 'call\\1', '$1$1$1'];
  for (const id of ids) expect(find(ids, `{"a":${JSON.stringify(id)}}`)).toEqual([id]);
  expect(find(ids, '{"a":"callX1","b":"cxyl-1"}')).toEqual([]);
});

test('a short id counts as the value of unique_id only', () => {
  const ids = ['1', 'é', '', '12345'];
  expect(find(ids, '{"unique_id":"1","a":"é"}')).toEqual(['1']);
  expect(find(ids, '{"unique_id":"é"}')).toEqual(['é']);
  expect(find(ids, '{"unique_id" :\n "1","n":"12345"}')).toEqual(['1']);
  expect(find(ids, '{"id":"1","n":"12345","unique_id":"x"}')).toEqual([]);
});

test('a text that is an id and nothing else names it, however short', () => {
  const ids = ['c-1', 'c-123456', 'é"'];
  for (const id of ids) {
    expect(find(ids, JSON.stringify(id))).toEqual([id]);
    expect(find(ids, ` ${id}\n`)).toEqual([id]);
  }
  expect(find(ids, '"c-1" "x"')).toEqual([]);
});

test('a number in place of the id names it', () => {
  const ids = ['12345678', '17', '-3'];
  expect(find(ids, '{"unique_id":12345678}')).toEqual(['12345678']);
  expect(find(ids, '{"unique_id" : 17,"x":{"unique_id":-3')).toEqual(['-3', '17']);
  for (const text of ['{"a":17}', '{"unique_id":17.5}', '{"unique_id":17e1}', '{"unique_id":170}'])
    expect(find(ids, text)).toEqual([]);
});

test('an id is found in whatever escapes it is written', () => {
  const ids = ['appel-é', '2025/03/17', 'say "hi"', 'line\nend', 'half\ud800half'];
  for (const text of ['{"unique_id":"appel-é"', '{"unique_id":"appel-\\u00e9","x":', '["\\u0061ppel-\\u00E9"'])
    expect(find(ids, text)).toEqual(['appel-é']);
  expect(find(ids, '{"unique_id":"2025\\/03\\/17","x":')).toEqual(['2025/03/17']);
  for (const id of ids) expect(find(ids, JSON.stringify({ unique_id: id }))).toEqual([id]);
});

test('a quote that is missing, one too many, or behind a backslash hides no id', () => {
  const ids = ['call-1', 'call-2'];
  for (const text of ['{"a":"x,"b":"call-1"}', '{"a":""","b":"call-1"}', '\\"call-1"', '{"a":"","b":"call-1"}'])
    expect(find(ids, text)).toEqual(['call-1']);
});

test('many ids that begin with the same letters take no longer than few', () => {
  const ids = Array.from({ length: 500 }, (_, at) => `call${'y'.repeat(at + 2)}`);
  const body = Buffer.from('"callx",'.repeat(10_000));
  const timeOf = (some: readonly string[]): number => {
    const namesIn = createNameFinder(some);
    const from = performance.now();
    expect(namesIn(body)).toEqual([]);
    return performance.now() - from;
  };
  timeOf(ids);
  expect(timeOf(ids)).toBeLessThan(500);
});

test('bytes that are no text, sealed ones, and the ends of bodies', () => {
  const ids = ['call-1', 'call-2'];
  const body = Buffer.concat([Buffer.from([0xff, 0x22, 0xfe, 0]), Buffer.from('"call-1"')]);
  expect(find(ids, body)).toEqual(['call-1']);
  for (let end = 0; end < body.length; end += 1) expect(find(ids, body.subarray(0, end))).toEqual([]);
  const { publicKey } = generateKeyPairSync('x25519');
  const sealed = createSealer(Buffer.from(publicKey.export({ format: 'pem', type: 'spki' })))(body);
  expect(find(ids, sealed)).toEqual([]);
  expect(createNameFinder([])(body)).toEqual([]);
});

test('any ids in any text', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', 'é', '%', '\ud83d'), maxLength: 9 });
  const piece = fc.oneof(
    letters,
    letters.map((id) => JSON.stringify(id)),
    letters.map((id) => `"unique_id": ${JSON.stringify(id)}`),
  );
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 12 }), fc.array(piece, { maxLength: 12 }), (ids, pieces) => {
      const named = ids.slice(0, 4).map((id) => JSON.stringify(id));
      const text = [...pieces, ...named, ...pieces].join('');
      const found = find(ids, text);
      expect(found).toEqual(expect.arrayContaining(findOneByOne(ids, Buffer.from(text).toString())));
      for (const id of found) expect(id === text.trim() || isWrittenIn(id, text)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
