/** The list of what was replaced in a transcript: places and detectors of each span, and nothing that a sender made up. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openPrivacy } from '../support/rotated-keys.ts';

const open = (settings: object) => openPrivacy({ profile: 'pseudonymous', ...settings });
const privacy = open({ patterns: [{ name: 'contract', pattern: 'CT-\\d+' }] });

const said = (content: string, from = 'out') => ({
  from,
  words: content.split(' ').map((value, start) => ({ value, start })),
  content,
});

interface Transcript {
  readonly callData: readonly unknown[];
  readonly callsync_redactions?: unknown;
}

/** The transcript under the rules, the same from its value and from its bytes. */
const pass = (transcript: object, { admit, preview } = privacy): Transcript => {
  const record = { unique_id: 'a', transcript_json: transcript };
  const { transcript_json: kept } = preview(record).fields;
  const { body } = admit(Buffer.from(JSON.stringify(record)));
  expect(JSON.parse(body.toString())).toEqual({ unique_id: 'a', transcript_json: kept });
  return kept as Transcript;
};
const listOf = (...callData: readonly unknown[]) => pass({ callData }).callsync_redactions;

test('has the words of each span, in their order, and the version of the detector', () => {
  const card = said('la carte 4970 1000 0000 0055 et le cryptogramme 123');
  const expected = [
    [1, 2, 5, 'card', 1],
    [1, 9, 9, 'cvv', 1],
    [2, 1, 5, 'phone', 1],
    [2, 7, 7, 'contract', null],
  ];
  expect(listOf(said('oui bonjour'), card, said('le 06 39 98 12 34, ou CT-771'))).toEqual(expected);
});

test('names exactly the words that were replaced', () => {
  const phrase = fc.constantFrom(
    'le zéro six trente-neuf',
    'quatre-vingt-dix-huit douze trente-quatre merci',
    'c est le 06 39 98 12 34',
    'jean point dupont arobase gmail point com',
    'le code de sécurité 123',
    'né le 12 mars 1985',
    'oui',
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(phrase, fc.constantFrom('in', 'out')), { maxLength: 6 }), (lines) => {
      const before = lines.map(([content, from]) => said(content, from));
      const { callData: after, callsync_redactions: list = [] } = pass({ callData: before }) as {
        readonly callData: typeof before;
        readonly callsync_redactions?: readonly (readonly [number, number, number])[];
      };
      const named = list.flatMap(([utterance, first, last]) =>
        Array.from({ length: last - first + 1 }, (_, index) => `${utterance}:${first + index}`),
      );
      const changed = before.flatMap(({ words }, utterance) =>
        words.flatMap(({ value }, index) =>
          after[utterance]?.words[index]?.value === value ? [] : [`${utterance}:${index}`],
        ),
      );
      expect([...new Set(named)].sort()).toEqual(changed.sort());
    }),
    { numRuns: 60 },
  );
});

test('names no words where text and words differ, or where there are none', () => {
  const differs = { ...said('bonjour à tous'), content: 'appelez le 06 39 98 12 34' };
  const expected = [
    [0, null, null, 'phone', 1],
    [1, null, null, 'phone', 1],
  ];
  expect(listOf(differs, { content: 'le 06 39 98 12 34' })).toEqual(expected);
});

test('is absent where nothing was found, and costs such a transcript no byte', () => {
  const body = Buffer.from('{"unique_id":"a","transcript_json":{"callData":[{"words":[],"content":"oui"}],"meta":{}}}');
  expect(privacy.admit(body).body).toEqual(body);
  expect(pass({ callData: [said('bonjour')] })).toEqual({ callData: [said('bonjour')] });
});

test('a second pass changes nothing, and one under stricter rules adds to it', () => {
  const looser = open({ disabled_detectors: ['birth'] });
  const first = pass({ callData: [said('née le 12/03/1985 au 06 39 98 12 34')] }, looser);
  expect(first.callsync_redactions).toEqual([[0, 4, 8, 'phone', 1]]);
  expect(pass(first, looser)).toEqual(first);
  const second = pass(first);
  const expected = [
    [0, 2, 2, 'birth', 1],
    [0, 4, 8, 'phone', 1],
  ];
  expect(second.callsync_redactions).toEqual(expected);
  expect(pass(second)).toEqual(second);
});

test('stays when the words go', () => {
  const without = open({ rules: [{ path: 'transcript_json.callData.words', action: 'drop' }] });
  const first = pass({ callData: [said('le 06 39 98 12 34')] }, without);
  expect(first.callsync_redactions).toEqual([[0, 1, 5, 'phone', 1]]);
  expect(pass(first, without)).toEqual(first);
});

test('a rule may leave it out', () => {
  const without = open({ rules: [{ path: 'transcript_json.callsync_redactions', action: 'drop' }] });
  expect(pass({ callData: [said('le 06 39 98 12 34')] }, without).callsync_redactions).toBeUndefined();
});

test.each<[string, unknown]>([
  ['a number for a place', [[0, 0, 639_981, 'phone', 1]]],
  ['a number for an utterance', [[639_981, 0, 0, 'phone', 1]]],
  ['a name for a detector', [[0, 0, 0, 'jean_dupont', 1]]],
  ['the name of something every object has', [[0, 0, 0, 'constructor', 1]]],
  ['a version to come', [[0, 0, 0, 'phone', 33_639]]],
  ['a version of a pattern', [[0, 0, 0, 'contract', 123]]],
  ['no version of a detector', [[0, 0, 0, 'phone', null]]],
  ['a further value', [[0, 0, 0, 'phone', 1, '0639981234']]],
  ['text for a place', [['0639981234', 0, 0, 'phone', 1]]],
  ['half a range', [[0, null, 0, 'phone', 1]]],
  ['a range that ends before it begins', [[0, 1, 0, 'phone', 1]]],
  ['a fraction', [[0, 0.639981234, 1, 'phone', 1]]],
  ['an object', { jean: 'dupont' }],
  ['text', '0639981234'],
])('of what a sender writes nothing stays but places and known detectors: %s', (_what, sent) => {
  expect(pass({ callData: [said('oui madame')], callsync_redactions: sent }).callsync_redactions).toBeUndefined();
  const mixed = Array.isArray(sent) ? [...(sent as unknown[]), [0, 0, 1, 'phone', 1]] : [[0, 0, 1, 'phone', 1]];
  expect(pass({ callData: [said('oui madame')], callsync_redactions: mixed }).callsync_redactions).toEqual([
    [0, 0, 1, 'phone', 1],
  ]);
});
