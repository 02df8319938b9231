/** Transcripts by their bytes: what is stored of them is what the rules leave of their value, however they are written. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { openJson } from '../../src/privacy/cut-fields.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';
import { scanTranscript } from '../../src/privacy/scan-transcript.ts';

const keys = { token: Buffer.alloc(32, 7), seal: undefined };
const open = (settings: object) => createPrivacy(privacyConfigSchema.parse({ ...settings, unreadable: 'drop' }), keys);
const pseudonymous = open({ profile: 'pseudonymous' });
const privacies = [
  pseudonymous,
  open({ rules: [{ path: 'transcript_json.callData.datetime', action: 'drop' }], profile: 'pseudonymous' }),
  open({ profile: 'pseudonymous', patterns: [{ name: 'greeting', pattern: 'bonjour' }] }),
];

type Fields = Readonly<Record<string, unknown>>;

const phrase = fc.constantFrom(
  'bonjour madame',
  'le zéro six trente-neuf',
  'quatre-vingt-dix-huit douze trente-quatre merci',
  'c est le 06 39 98 12 34',
  'jean point dupont arobase gmail point com',
  'le code de sécurité 123',
  'né le 12 mars 1985',
  'la carte 4970 1000 0000 0055',
  'un " guillemet \\ et \n une ligne',
  'le 2024-03-04 à 10:00',
  'oui',
);
const wordsOf = (content: string): unknown[] =>
  content.split(' ').map((value, at) => ({ score: 0.5, start: at / 4, value, length: 0.25 }));
const said = fc
  .record({ from: fc.constantFrom('in', 'out'), content: phrase, datetime: fc.integer({ min: 0, max: 999 }) })
  .map(({ from, content, datetime }): Fields => ({ from, words: wordsOf(content), content, datetime, duration: 1.5 }));
const odd = fc.tuple(said, fc.nat({ max: 10 })).map(([one, kind]): unknown => {
  const { words, content, ...rest } = one;
  const list = words as readonly Fields[];
  const kinds: readonly unknown[] = [
    { ...rest, content },
    { ...rest, words },
    { ...rest, words, content: 'autre chose 06 39 98 12 34' },
    { ...one, words: list.map((word) => ({ ...word, raw: '06 39 98 12 34' })) },
    { ...one, words: list.map((word, at) => (at === 0 ? { value: word.value } : word)) },
    { ...one, words: list.map((word) => ({ ...word, start: 33_639_981_234 })) },
    { ...one, note: 'rappeler le 06 39 98 12 34', '06 39 98 12 34': null },
    { ...one, words: [] },
    { ...one, words: list.map((word) => ({ ...word, '06 39 98 12 34': 1 })) },
    { ...one, from: 7, words: [...list, 'x'] },
    { content, words, ...rest, score: -0.5 },
  ];
  return kinds[kind];
});
const callData = fc.array(fc.oneof({ weight: 4, arbitrary: said }, { weight: 1, arbitrary: odd }), { maxLength: 6 });
const place = fc.constantFrom(null, 0, 1, 7, -0, 0.5, 639_981, 'x');
const detector = fc.constantFrom('phone', 'card', 'greeting', 'Jean', 'constructor', 7);
const redactions = fc.oneof(
  fc.array(fc.oneof(fc.tuple(place, place, place, detector, fc.constantFrom(null, 1, 2)), fc.constant('x')), {
    maxLength: 4,
  }),
  fc.constantFrom(null, [], {}, '06 39 98 12 34'),
);
const transcript = fc.record(
  {
    callData: fc.oneof({ weight: 9, arbitrary: callData }, { weight: 1, arbitrary: fc.constantFrom(null, {}, [1]) }),
    callUniqueId: fc.constantFrom('', 'asr-1', '06 39 98 12 34'),
    meta: fc.constantFrom({ lang: 'fr', ivr_end: 2.5 }, { note: 'a@b.fr', '0639981234': 1 }),
    callsync_redactions: redactions,
  },
  { requiredKeys: ['callData', 'callUniqueId', 'meta'] },
);

const escapeAll = (text: string): string =>
  text.replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

test('what is stored of a transcript is what the rules leave of its value', () => {
  fc.assert(
    fc.property(transcript, fc.boolean(), fc.boolean(), (transcript_json, isSpaced, isEscaped) => {
      const text = JSON.stringify({ unique_id: 'a', transcript_json }, null, isSpaced ? 1 : undefined);
      const body = isEscaped ? escapeAll(text) : text;
      for (const { admit, preview } of privacies) {
        const kept = preview(JSON.parse(body) as Fields, () => undefined);
        const stored = admit(Buffer.from(body)).body;
        expect(JSON.parse(stored.toString())).toEqual(JSON.parse(JSON.stringify(kept)));
        expect(admit(stored).body.equals(stored)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

interface Said {
  readonly content?: unknown;
  readonly words?: readonly Fields[];
}
type Entry = readonly [number, number | null, number | null, string, number | null];

test('the list names exactly the words that were replaced', () => {
  const { preview } = pseudonymous;
  fc.assert(
    fc.property(fc.array(said, { maxLength: 6 }), (before) => {
      const { transcript_json: kept } = preview({ transcript_json: { callData: before } }, () => undefined);
      const { callData: after, callsync_redactions: list = [] } = kept as {
        readonly callData: readonly Said[];
        readonly callsync_redactions?: readonly Entry[];
      };
      const named = new Set(
        list.flatMap(([utterance, first, last]) => {
          const length = (last ?? 0) - (first ?? 0) + 1;
          return Array.from({ length }, (_, index) => `${utterance}:${(first ?? 0) + index}`);
        }),
      );
      const changed = before.flatMap(({ words }, utterance) =>
        (words as readonly Fields[]).flatMap(({ value }, index) =>
          after[utterance]?.words?.[index]?.value === value ? [] : [`${utterance}:${index}`],
        ),
      );
      expect([...named].sort()).toEqual(changed.sort());
    }),
    { numRuns: 60 },
  );
});

const { admit } = pseudonymous;
const bodyOf = (utterance: string): string =>
  `{"unique_id":"a","transcript_json":{"callData":[{"from":"in","words":[{"value":"oui","start":0.1}],"content":"oui"},${utterance}],"meta":{}}}`;

test('an utterance in which nothing is found stays as it came, beside one that changes', () => {
  const spaced = '{ "from" : "in", "words": [ {"value":"non","start":1.50} ], "content":"non" }';
  expect(admit(Buffer.from(bodyOf(spaced))).body.toString()).toBe(bodyOf(spaced));
  const number = '{"from":"in","words":[{"value":"0639981234","start":2}],"content":"0639981234"}';
  const kept = admit(Buffer.from(bodyOf(`${spaced},${number}`))).body.toString();
  expect(kept).toMatch(/"value":"ph_k1_[a-z2-7]{52}"/);
  expect(kept).toContain(spaced);
});

test.each([
  ['a name twice in a word', '{"from":"in","words":[{"value":"0639981234","value":"oui"}],"content":"oui"}'],
  ['a name twice in an utterance', '{"content":"0639981234","words":[{"value":"oui"}],"content":"oui"}'],
  ['a name twice beside', '{"words":[{"value":"oui"}],"content":"oui","x":{"y":"0639981234","y":1}}'],
  ['digits beyond a double', '{"words":[{"value":"oui","at":1.00000000000000033639981234}],"content":"oui"}'],
  ['a name in other letters', '{"words":[{"v\\u0061lue":"0639981234","value":"oui"}],"content":"oui"}'],
])('bytes say no more than their value: %s', (_what, utterance) => {
  const kept = admit(Buffer.from(bodyOf(utterance))).body.toString();
  expect(kept).not.toMatch(/39981234/);
  expect(JSON.parse(kept)).toMatchObject({ unique_id: 'a' });
});

test.each([
  ['{"words":[{"value":"oui","start":01}],"content":"oui"}'],
  ['{"words":[{"value":"oui","start":1.}],"content":"oui"}'],
  ['{"words":[{"value":"oui","start":tru}],"content":"oui"}'],
  ['{"words":[{"value":"oui"}]],"content":"oui"}'],
  ['{"words":[{"value":"oui"},],"content":"oui"}'],
  ['{"words":[{"value":"o\tui"}],"content":"o\tui"}'],
  ['{"words":[{"value":"\\x"}],"content":"\\x"}'],
])('bytes that are no JSON are kept by nobody: %s', (utterance) => {
  expect(admit(Buffer.from(bodyOf(utterance))).body.toString()).toContain('dropped on arrival');
});

test.each(['1', 'null', 'true', '1e400'])(
  'a name in a word that holds a number is replaced beside %s, at once',
  (beside) => {
    const word = `{"value":"oui","06 39 98 12 34":${beside}}`;
    const body = `{"unique_id":"a","transcript_json":{"callData":[{"content":"oui","words":[${word}]}]}}`;
    const admitted = pseudonymous.admit(Buffer.from(body)).body;
    expect(admitted.toString()).toMatch(/"value":"oui","ph_k1_[a-z2-7]{52}":/);
    expect(pseudonymous.admit(admitted).body.equals(admitted)).toBe(true);
  },
);

test('a sender who writes each utterance in another way gets few patterns made', () => {
  const utterances = Array.from({ length: 40 }, (_, at) => ({ content: 'oui', [`a${at}`]: 1 }));
  const transcript = Buffer.from(JSON.stringify({ callData: utterances }));
  const scanned = scanTranscript(openJson(transcript), 0)?.utterances ?? [];
  expect(scanned.length).toBe(40);
  expect(scanned.filter(({ said }) => said !== undefined).length).toBe(8);
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`a${at}`, 1]));
  const many = Buffer.from(JSON.stringify({ callData: [{ content: 'oui', ...fields }] }));
  expect(scanTranscript(openJson(many), 0)?.utterances[0]?.said).toBeUndefined();
});

test('ways of writing take turns in one call without a parser', () => {
  const utterances = Array.from({ length: 40 }, (_, at) => ({
    content: 'oui',
    ...(at % 2 === 0 ? { score: 0.5 } : {}),
  }));
  const transcript = Buffer.from(JSON.stringify({ callData: utterances }));
  const scanned = scanTranscript(openJson(transcript), 0)?.utterances ?? [];
  expect(scanned.filter(({ said }) => said === undefined)).toEqual([]);
});
