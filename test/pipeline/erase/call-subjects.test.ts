/** What is indexed of a call is enough to find it: whatever a reading of the call would find, the index finds. */

import fc from 'fast-check';
import type { CountryCode } from 'libphonenumber-js/max';
import { expect, test } from 'vitest';
import { frNumber } from '../../../bench/privacy/speak.ts';
import { privacyConfigSchema } from '../../../schemas/config/privacy.ts';
import { leavesSpeechOf } from '../../../src/cli/services/open-privacy.ts';
import { openSubjectIndex } from '../../../src/cli/services/open-subject-index.ts';
import {
  listCallSubjects,
  listRequestSubjects,
  listWrittenSubjects,
} from '../../../src/pipeline/erase/call-subjects.ts';
import { createMatcher, createTextMatcher, type ErasureRequest } from '../../../src/pipeline/erase/match-calls.ts';
import { compareValues } from '../../../src/privacy/compare-values.ts';
import { versionOfRules } from '../../../src/privacy/rules-version.ts';
import { rotatedKeys } from '../../support/rotated-keys.ts';

/** National digits, of few people, so that calls and requests meet. */
const people = ['611223344', '655443322'];
const foreign = ['+447911123456', '+4520250301', '+12015550123', '+3541234567'];
const odd = ['3639', '123456', '1234567', 'client-17', '0611', '+290 1234', 'ph_k1', '20250301'];

const grouped = (national: string): string => `0${national}`.replaceAll(/(..)(?=.)/g, '$1 ');
const spoken = (national: string): string =>
  (`0${national}`.match(/../g) ?? [])
    .map((pair) => (pair.startsWith('0') ? `zéro ${frNumber(Number(pair[1]))}` : frNumber(Number(pair))))
    .join(' ');
const writings: readonly ((national: string) => string)[] = [
  (national) => `33${national}`,
  (national) => `+33${national}`,
  (national) => `+33 (0)${grouped(national).slice(1)}`,
  (national) => `0033 ${national}`,
  (national) => `0${national}`,
  grouped,
  (national) => grouped(national).replaceAll(' ', '.'),
  (national) => `33/${national.slice(0, 3)}-${national.slice(3)}`,
  spoken,
];

const written = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...people), fc.constantFrom(...writings))
      .map(([national, write]) => write(national)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...foreign, ...odd) },
);
/** A value as it came, as a token of some key, as a number, or within other text. */
const value: fc.Arbitrary<unknown> = fc
  .tuple(
    written,
    fc.constantFrom('as it is', 'token', 'number', 'fraction', 'text', 'pieces'),
    fc.constantFrom(...rotatedKeys),
  )
  .map(([text, how, key]) => {
    const number = Number(text.replaceAll(/\D/g, ''));
    if (how === 'token') return key.tokensOf(text)[0];
    if (how === 'number') return number;
    if (how === 'fraction') return number / 1e9;
    if (how === 'text') return `rappeler ${text}, merci (${key.tokensOf(text)[0]}) 2025-03-01 10:00`;
    return how === 'pieces' ? [text.slice(0, 4), { rest: text.slice(4) }, null, true, { toString: 1 }] : text;
  });

const utterances = fc.array(fc.tuple(fc.constantFrom('in', 'out'), written, fc.nat(2)), { maxLength: 3 }).map((said) =>
  said.flatMap(([from, text, parts]) => {
    const words = `alors ${text} voilà`.split(' ');
    const cut = parts === 0 ? words.length : Math.ceil(words.length / 2);
    return [words.slice(0, cut), words.slice(cut)]
      .filter((part) => part.length > 0)
      .map((part) => ({
        from,
        content: part.join(' '),
        ...(parts === 2
          ? {}
          : { words: part.map((one, at) => ({ value: one, start: at + 0.611223344, length: 1, score: 0.655443322 })) }),
      }));
  }),
);

const call = fc.record(
  {
    in: fc.record({ data: value, type: fc.constant('PHONE') }),
    metadata: fc.dictionary(fc.constantFrom('ANI', 'ClientID', 'Memo', '__proto__'), value, { maxKeys: 3 }),
    visit: value,
    transcript_json: fc.record({ callData: utterances, meta: value }),
  },
  { requiredKeys: [] },
);

const request: fc.Arbitrary<Exclude<ErasureRequest, { kind: 'call' }>> = fc
  .tuple(
    fc.array(written, { minLength: 1, maxLength: 2 }),
    fc.constantFrom('phone', 'phone', 'ANI', 'ClientID', '__proto__'),
  )
  .map(([values, by]) => (by === 'phone' ? { kind: 'phone', values } : { kind: 'metadata', key: by, values }));

const setups = fc.constantFrom<readonly CountryCode[]>(['FR'], ['FR', 'GB', 'BE'], ['US'], ['DK', 'IS']);

test('every call that a request means has one of its subjects, and one that is not meant nearly never', () => {
  const met = { meant: 0, found: 0, sought: 0 };
  fc.assert(
    fc.property(
      fc.array(call, { minLength: 1, maxLength: 4 }),
      request,
      setups,
      fc.constantFrom(...rotatedKeys),
      (made, asked, countries, key) => {
        const comparison = compareValues(countries, key.tokensOf);
        const sought = listRequestSubjects(asked, comparison);
        const matches = createMatcher(asked, comparison);
        for (const one of made) {
          const document = JSON.parse(
            JSON.stringify(
              key === rotatedKeys[0]
                ? one
                : key.sanitize({ callId: '', source: 'poll', observedAt: 0, fields: one }).fields,
            ),
          );
          const isMeant = matches(document);
          if (sought === undefined) continue;
          // Rules of the same countries leave no number that is said.
          const isRedacted = key !== rotatedKeys[0] && countries.join() === 'FR';
          const own = (isRedacted ? listWrittenSubjects : listCallSubjects)(document, comparison);
          const isFound = sought.some((subject) => own.has(subject));
          if (isMeant) expect(isFound).toBe(true);
          met.sought += 1;
          met.meant += Number(isMeant);
          met.found += Number(isFound);
        }
      },
    ),
    { numRuns: 250, seed: 7 },
  );
  // Otherwise nothing was shown.
  expect(met.meant).toBeGreaterThan(10);
  expect(met.found).toBeLessThan(met.meant + met.sought / 20);
  expect(met.sought).toBeGreaterThan(50);
});

const open = (key: string, countries: readonly CountryCode[]) =>
  openSubjectIndex({ key: Buffer.from(key), countries, leavesSpeech: (rules) => rules !== 'redacting' });

test('the hashes of an index tell the key, the countries and nothing of the values', () => {
  const document = { in: { data: '0611223344' }, metadata: { ClientID: 'client-17' } };
  const [index, otherKey, otherCountries] = [
    open('a key', ['FR']),
    open('another key', ['FR']),
    open('a key', ['FR', 'BE']),
  ] as const;
  const hashes = index.hashesOf(document);
  expect(hashes).toContainEqual(index.hashOf('phone\0+33611223344'));
  expect(hashes.every((one) => /^[\da-f]{16}$/.test(one))).toBe(true);
  expect(otherKey.hashesOf(document)).not.toContainEqual(hashes[0]);
  const said = { ...document, transcript_json: { callData: [{ content: spoken('655443322') }] } };
  expect(index.hashesOf(said)).toContainEqual(index.hashOf('phone\0+33655443322'));
  expect(index.foldedHashesOf(said, null)).toBe(undefined);
  expect(index.foldedHashesOf(said, 'redacting')).toEqual(hashes);
  expect(index.foldedHashesOf(document, null)).toEqual(hashes);
  expect(new Set([index.version, otherKey.version, otherCountries.version]).size).toBe(3);
});

test('a fold looks for numbers that are said unless the rules of the document redact them', () => {
  const read = (settings: object) => {
    const config = privacyConfigSchema.parse({ unreadable: 'drop', ...settings });
    const version = versionOfRules(config) ?? null;
    return [version, null, 'another'].map((rules) => leavesSpeechOf(config)(rules));
  };
  expect(read({ profile: 'pseudonymous' })).toEqual([false, true, true]);
  for (const leaving of [
    { profile: 'none' },
    { profile: 'pseudonymous', disabled_detectors: ['phone'] },
    { profile: 'pseudonymous', rules: [{ path: 'transcript_json', action: 'keep' }] },
    { profile: 'none', rules: [{ path: 'in.data', action: 'token' }] },
  ])
    expect(read(leaving)).toEqual([true, true, true]);
});

/** A change of these is a change of `subjectsVersion`: stored calls have those of before. */
test('subjects stay as they are stored', () => {
  const subjects = listCallSubjects(
    {
      in: { data: '0611223344' },
      metadata: { ClientID: 17, Memo: 'rappeler le 06.55.44.33.22 ou le 01 23 45 67 89', Nested: { a: [1] } },
      visit: {
        at: '2025-03-01T10:00:00Z',
        score: 0.611223399,
        number: 33611335544,
        token: rotatedKeys[0].tokensOf('x')[0],
      },
      transcript_json: { callData: [{ from: 'in', content: `mon ${spoken('611223355')}` }] },
    },
    compareValues(['FR'], () => []),
  );
  expect([...subjects].map((subject) => subject.replaceAll('\0', ' ')).sort()).toMatchInlineSnapshot(`
    [
      "metadata ClientID 17",
      "metadata Memo rappeler le 06.55.44.33.22 ou le 01 23 45 67 89",
      "metadata Nested {"a":[1]}",
      "phone +33123456789",
      "phone +33611223344",
      "phone +33611223355",
      "phone +33611335544",
      "phone +33655443322",
      "phone 01234567",
      "phone 06554433",
      "phone 23456789",
      "phone 55443322",
      "text ph_k1_3gru4cnqmdneoofn5ohopv2oe2rfgzw4t7ntiyugwo4tendiw32q",
    ]
  `);
});

test('fractions, identifiers and times are nobody’s number', () => {
  const matches = createMatcher(
    { kind: 'phone', values: ['06 11 22 33 44', '+45 20250301'] },
    compareValues(['FR'], () => []),
  );
  const word = (score: number) => ({ transcript_json: { callData: [{ words: [{ value: 'oui', score }] }] } });
  expect([word(0.611223344), word(33611223344)].map(matches)).toEqual([false, true]);
  const ids = [
    '0611223344',
    'a 0611223344',
    '06112233-4400-4000-8000-000000000000',
    '33611223-3440-4000-8000-000000000000',
  ];
  expect(ids.map((id) => matches({ id }))).toEqual([true, true, false, false]);
  const times = ['20250301', '2025-03-01', '2025-03-01T10:00:00.123Z', 'le 2025-03-01'];
  expect(times.map((at) => matches({ at }))).toEqual([true, false, false, true]);
});

test('a value of metadata is found in a text however JSON writes it, whole and in quotes', () => {
  const matches = createTextMatcher(
    { kind: 'metadata', key: 'client', values: ['CLIÉNT/47', 'say "hi"', 'short'] },
    compareValues(['FR'], () => []),
  );
  for (const text of [
    '"CLIÉNT/47"',
    '{"a":"","b":"CLI\\u00c9NT\\/47"',
    '"x,"b":"CLIÉNT/47"',
    JSON.stringify('say "hi"'),
  ])
    expect([text, matches(text)]).toEqual([text, true]);
  for (const text of ['CLIÉNT/47', '"CLIÉNT/471"', '"short"', '']) expect([text, matches(text)]).toEqual([text, false]);
});
