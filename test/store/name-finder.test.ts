/** One look for many call ids finds what a search for each of them finds. */
import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSealer } from '../../src/sealed.ts';
import { createNameFinder } from '../../src/store/delivery/name-finder.ts';

/** As PostgreSQL's `position` finds them, one by one. */
const findOneByOne = (ids: readonly string[], text: Buffer): string[] =>
  [...new Set(ids)].filter((id) =>
    text.includes(Buffer.from(`${id.length < 6 ? '"unique_id":' : ''}${JSON.stringify(id)}`)),
  );

const find = (ids: readonly string[], text: string | Buffer): string[] => {
  const body = Buffer.from(text as string);
  const found = [...createNameFinder(ids)(body)].sort();
  expect(found).toEqual(findOneByOne(ids, body).sort());
  return found;
};

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
  expect(find(ids, '{"unique_id": "1","n":"12345"}')).toEqual([]);
});

test('an id is found as JSON writes it, not in other escapes', () => {
  const ids = ['appel-é', 'say "hi"', 'line\nend', 'half\ud800half'];
  expect(find(ids, '{"unique_id":"appel-é"}')).toEqual(['appel-é']);
  expect(find(ids, '{"unique_id":"appel-\\u00e9"}')).toEqual([]);
  for (const id of ids) expect(find(ids, JSON.stringify({ unique_id: id }))).toEqual([id]);
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
    letters.map((id) => `"unique_id":${JSON.stringify(id)}`),
  );
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 12 }), fc.array(piece, { maxLength: 12 }), (ids, pieces) => {
      const named = ids.slice(0, 4).map((id) => JSON.stringify(id));
      find(ids, [...pieces, ...named, ...pieces].join(''));
    }),
    { numRuns: 300 },
  );
});
