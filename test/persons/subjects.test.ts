/** Whether a call is meant by a request, by reading all of it: what the index of subjects is held against. */

import fc from 'fast-check';
import type { CountryCode } from 'libphonenumber-js/max';
import { expect, test } from 'vitest';
import { frNumber } from '../../bench/privacy/speak.ts';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { leavesSpeechOf } from '../../src/app/open-rules.ts';
import { JsonRecord } from '../../src/lib/json-record.ts';
import { isObject } from '../../src/lib/parse-json.ts';
import { createSealer } from '../../src/lib/sealed.ts';
import { listDialled } from '../../src/persons/list-dialled.ts';
import { meantBy, type PersonRequest } from '../../src/persons/request.ts';
import { foundSubject, openSubjects, textSubject } from '../../src/persons/subjects.ts';
import { detect } from '../../src/privacy/detect.ts';
import type { JoinedDetector } from '../../src/privacy/finding.ts';
import { normalizeNumber, writtenDigits } from '../../src/privacy/phone-number.ts';
import { versionOfRules } from '../../src/privacy/rules.ts';
import { readUtterances } from '../../src/privacy/transcript.ts';
import { forAll } from '../support/for-all.ts';
import { inheritedNames } from '../support/inherited-names.ts';
import { makeSealingKeys, rotatedKeys } from '../support/rotated-keys.ts';

type Fields = Readonly<Record<string, unknown>>;

type Reading = { readonly countries: readonly CountryCode[]; readonly tokensOf: (value: string) => readonly string[] };
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'number' && Math.abs(value) >= 1e5 && Number.isInteger(value)) yield String(value);
  else if (typeof value === 'string' && value.length >= 6) yield value;
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
}

const plain =
  /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)$/i;
const token = /ph_[a-z\d]+_[a-z2-7]{52}/g;

/** Undefined where a number is too short to be looked for within texts, or none. */
const createMatcher = (
  request: Exclude<PersonRequest, { kind: 'call' }>,
  { countries, tokensOf }: Reading,
): ((fields: Fields) => boolean) | undefined => {
  const tokens = new Set(request.values.flatMap((value) => tokensOf(value)));
  if (request.kind === 'metadata') {
    const values = new Set([...request.values, ...tokens]);
    const textOf = (value: unknown): string =>
      typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
    return ({ metadata }) =>
      isObject(metadata) && Object.hasOwn(metadata, request.key) && values.has(textOf(metadata[request.key]));
  }
  const numbers = new Set(request.values.map((value) => normalizeNumber(value, countries) ?? value));
  const written = [...numbers].map(writtenDigits);
  if (written.some((digits) => digits.length === 0 || digits.some(({ length }) => length < 7))) return undefined;
  const digits = new Set(written.flat());
  const isMeant = (text: string): boolean => {
    for (const [found] of text.matchAll(token)) if (tokens.has(found)) return true;
    if (plain.test(text)) return false;
    for (const found of listDialled(text)) if (digits.has(found)) return true;
    return /^[+\d\s().\-/]{6,32}$/.test(text) && numbers.has(normalizeNumber(text, countries) ?? '');
  };
  const isSaid = ({ transcript_json: transcript }: Fields): boolean => {
    if (!isObject(transcript)) return false;
    const read = readUtterances(transcript.callData);
    const said = read.map(({ speaker, text }) => ({ speaker, text: text.replaceAll(token, 'pseudonym') }));
    const only = { isOn: (name: string) => name === 'phone', countries, patterns: [] };
    return detect(said, only).some(({ value }) => numbers.has(value));
  };
  return (fields) => [...textsIn(fields)].some(isMeant) || isSaid(fields);
};

/** The keys beside a call or a text suffice to find it: the index finds everything that a reading would find. */
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

const ofPeople = fc.tuple(fc.constantFrom(...people), fc.constantFrom(...writings));
const written = fc.oneof(
  { weight: 3, arbitrary: ofPeople.map(([national, write]) => write(national)) },
  { weight: 1, arbitrary: fc.constantFrom(...foreign, ...odd) },
);
const anyKey = fc.constantFrom(...rotatedKeys);
/** A value as it came, as a token of some key, as a number, or within other text. */
const value: fc.Arbitrary<unknown> = fc
  .tuple(written, fc.constantFrom('as it is', 'token', 'number', 'fraction', 'text', 'pieces'), anyKey)
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
    const timed = (value: string, at: number) => ({ value, start: at + 0.611223344, length: 1, score: 0.655443322 });
    const utteranceOf = (part: string[]) => ({
      ...{ from, content: part.join(' '), ...(parts === 2 ? {} : { words: part.map(timed) }) },
    });
    return [words.slice(0, cut), words.slice(cut)].filter((part) => part.length > 0).map(utteranceOf);
  }),
);

const call = fc.record(
  {
    in: fc.record({ data: value, type: fc.constant('PHONE') }),
    metadata: fc.dictionary(fc.constantFrom('ANI', 'ClientID', 'Memo', ...inheritedNames), value, { maxKeys: 3 }),
    visit: value,
    transcript_json: fc.record({ callData: utterances, meta: value }),
  },
  { requiredKeys: [] },
);

const request: fc.Arbitrary<Exclude<PersonRequest, { kind: 'call' }>> = fc
  .tuple(
    fc.array(written, { minLength: 1, maxLength: 2 }),
    fc.constantFrom('phone', 'phone', 'ANI', 'ClientID', ...inheritedNames),
  )
  .map(([values, by]) => (by === 'phone' ? { kind: 'phone', values } : { kind: 'metadata', key: by, values }));

const setups = fc.constantFrom<readonly CountryCode[]>(['FR'], ['FR', 'GB', 'BE'], ['US'], ['DK', 'IS']);

test('every call that a request means has one of its subjects, and one that is not meant nearly never', async () => {
  const met = { meant: 0, found: 0, sought: 0 };
  await forAll(
    [fc.array(call, { minLength: 1, maxLength: 4 }), request, setups, fc.constantFrom(...rotatedKeys)],
    { numRuns: 150, seed: 7 },
    (made, asked, countries, key) => {
      const reading = { countries, tokensOf: key.tokensOf };
      const sought = meantBy(asked, reading).subjects;
      const matches = createMatcher(asked, reading);
      if (matches === undefined) return;
      const { subjectsOf, subjectsWhileFolded } = openSubjects({ countries, leavesSpeech: () => false });
      for (const one of made) {
        const isRaw = key === rotatedKeys[0];
        const cleaned = isRaw
          ? one
          : key.sanitize({ callId: '', source: 'poll', observedAt: 0, fields: new JsonRecord(one) }).fields;
        const document = JSON.parse(JSON.stringify(cleaned));
        // Rules of the same countries leave no number that is said.
        const own = isRaw || countries.join() !== 'FR' ? subjectsOf(document).all : subjectsWhileFolded(document, null);
        const isMeant = matches(document);
        const isFound = sought.some((subject) => own?.has(subject));
        if (isMeant) expect(isFound).toBe(true);
        met.sought += 1;
        met.meant += Number(isMeant);
        met.found += Number(isFound);
      }
    },
  );
  // Otherwise nothing was shown.
  expect(met.meant).toBeGreaterThan(10);
  expect(met.found).toBeLessThan(met.meant + met.sought / 20);
  expect(met.sought).toBeGreaterThan(50);
});

const french = openSubjects({ countries: ['FR'], leavesSpeech: (rules) => rules !== 'redacting' });

test('while a call is folded nobody listens to what is said, unless the rules have taken numbers from it', () => {
  const document = { in: { data: '0611223344' }, metadata: { ClientID: 'client-17' } };
  const said = { ...document, transcript_json: { callData: [{ content: spoken('655443322') }] } };
  expect(french.subjectsOf(said).all).toContain('phone\0+33655443322');
  expect(french.subjectsWhileFolded(said, null)).toBe(undefined);
  expect(french.subjectsWhileFolded(said, 'redacting')).toEqual(french.subjectsOf(document).all);
  expect(french.subjectsWhileFolded(document, null)).toEqual(french.subjectsOf(document).all);
  const versionOf = (one: CountryCode) => openSubjects({ countries: [one], leavesSpeech: () => true }).version;
  expect(new Set([french.version, versionOf('FR'), versionOf('BE')]).size).toBe(2);
});

test('a fold looks for numbers that are said unless the rules of the document redact them', () => {
  const read = (settings: object) => {
    const config = privacyConfigSchema.parse({ unreadable: 'drop', ...settings });
    return [versionOfRules(config) ?? null, null, 'another'].map((rules) => leavesSpeechOf(config)(rules));
  };
  expect(read({ profile: 'pseudonymous' })).toEqual([false, true, true]);
  const keeping = { profile: 'pseudonymous', rules: [{ path: 'transcript_json', action: 'keep' }] };
  const tokens = { profile: 'none', rules: [{ path: 'in.data', action: 'token' }] };
  const few = { profile: 'pseudonymous', disabled_detectors: ['card'] };
  for (const leaving of [{ profile: 'none' }, few, keeping, tokens]) expect(read(leaving)).toEqual([true, true, true]);
});

test('a request by an IBAN finds it where a letter O was heard as zero, in clear and as a token', () => {
  const iban = 'NO9386011117947';
  const { tokensOf, preview } = rotatedKeys[0];
  const { subjects } = meantBy({ kind: 'iban', values: [iban] }, { countries: ['FR'], tokensOf });
  for (const spelled of ['mon iban N O 93 86 01 11 17 947', 'mon iban N 0 93 86 01 11 17 947']) {
    const fields = { transcript_json: { callData: [{ from: 'in', content: spelled }] } };
    const [found] = detect([{ speaker: '', text: spelled }], { isOn: () => true, countries: ['FR'], patterns: [] });
    expect(isFoundBy(subjects, new Set([foundSubject('iban', found?.value ?? '')]))).toBe(true);
    expect(isFoundBy(subjects, french.subjectsOf(preview(fields).fields).all), spelled).toBe(true);
  }
});

/** A change of these is a change of `subjectsVersion`: stored calls have those of before. */
test('subjects stay as they are stored', () => {
  const [kept] = rotatedKeys[0].tokensOf('x');
  const subjects = french.subjectsOf({
    in: { data: '0611223344' },
    out: { data: 'sip:alice2@example.org' },
    metadata: { ClientID: 17, Memo: 'rappeler le 06.55.44.33.22 ou le 01 23 45 67 89', Nested: { a: [1] } },
    visit: { at: '2025-03-01T10:00:00Z', score: 0.611223399, number: 33611335544, token: kept },
    transcript_json: { callData: [{ from: 'in', content: `mon ${spoken('611223355')}` }] },
  }).all;
  expect([...subjects].map((subject) => subject.replaceAll('\0', ' ')).sort()).toMatchInlineSnapshot(`
    [
      "email alice2@example.org",
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
      "phone sip:alice2@example.org",
      "token ph_k1_3gru4cnqmdneoofn5ohopv2oe2rfgzw4t7ntiyugwo4tendiw32q",
    ]
  `);
});

const number = '06 11 22 33 44';
const subjectsBy = (request: PersonRequest, tokensOf: (value: string) => readonly string[] = () => []) =>
  meantBy(request, { countries: ['FR'], tokensOf }).subjects;
const isFoundBy = (subjects: readonly string[], own: ReadonlySet<string>) => subjects.some((one) => own.has(one));

test.each<[string, string, Readonly<Record<string, unknown>>, boolean]>([
  ['an address in place of a number', 'sip:alice2@x.org', { in: { data: 'sip:alice2@x.org' } }, true],
  ['another with its digits', 'sip:alice2@x.org', { in: { data: 'sip:bob2@x.org' } }, false],
  ['a short number as a whole value', '123456', { note: '123456' }, true],
  ['a short number within a text', '123456', { note: 'code 123456' }, false],
  ['a fraction', number, { score: 0.611223344 }, false],
  ['a whole number', number, { score: 33611223344 }, true],
  ['an identifier', number, { id: '06112233-4400-4000-8000-000000000000' }, false],
  ['a time', '+45 20250301', { at: '2025-03-01T10:00:00.123Z' }, false],
  ['digits of a time', '+45 20250301', { at: '20250301' }, true],
])('%s is the number of a request, or is not', (_, asked, fields, isFound) => {
  expect(isFoundBy(subjectsBy({ kind: 'phone', values: [asked] }), french.subjectsOf(fields).all)).toBe(isFound);
});

test.each<[JoinedDetector, string, string, string]>([
  ['email', 'Jean.Dupont@Gmail.com', 'jean point dupont arobase gmail point com', 'jean.dupont@gmail.com'],
  ['iban', 'fr76 3000 6000 0112 3456 7890 189', 'FR76 3000 6000 0112 3456 7890 189', 'FR7630006000011234567890189'],
  ['card', '4970 1000 0000 0055', 'quarante-neuf soixante-dix 1000 0000 0055', '4970-1000-0000-0055'],
  ['nir', '1 85 05 78 006 084 91', '1 85 05 78 006 084 91', '185057800608491'],
])('by %s a call is found where it is said, written, or stands as a token', (kind, asked, said, written) => {
  const fields = [
    { transcript_json: { callData: [{ from: 'in', content: `oui ${said} voilà` }] } },
    { metadata: { Memo: `noté: ${written}.` } },
    { metadata: { Own: written } },
    { in: { data: written } },
  ];
  const [plain, key] = rotatedKeys;
  const subjects = subjectsBy({ kind, values: [asked] }, key.tokensOf);
  for (const one of fields) {
    const cleaned = key.sanitize({ callId: '', source: 'poll', observedAt: 0, fields: new JsonRecord(one) }).fields;
    expect(JSON.stringify(cleaned)).toContain('ph_');
    for (const document of [one, cleaned.toJSON()]) {
      const { all, party } = french.subjectsOf(document);
      expect([document, isFoundBy(subjects, all)]).toEqual([document, true]);
      if ('in' in one) expect(isFoundBy(subjects, party)).toBe(true);
    }
  }
  const others = subjectsBy({ kind, values: [asked.replaceAll('0', '1').replace('J', 'K')] }, plain.tokensOf);
  for (const one of fields) expect(isFoundBy(others, french.subjectsOf(one).all)).toBe(false);
});

test('a value of metadata is found in a text however JSON writes it, whole and in quotes', () => {
  const subjects = subjectsBy({ kind: 'metadata', key: 'client', values: ['CLIÉNT/47', 'say "hi"', 'short'] });
  const isIn = (text: string): boolean => isFoundBy(subjects, french.subjectsInText(text));
  const found = ['"CLIÉNT/47"', '{"a":"","b":"CLI\\u00c9NT\\/47"', '"x,"b":"CLIÉNT/47"', JSON.stringify('say "hi"')];
  for (const text of found) expect([text, isIn(text)]).toEqual([text, true]);
  for (const text of ['CLIÉNT/47', '"CLIÉNT/471"', '"short"', '']) expect([text, isIn(text)]).toEqual([text, false]);
});

const find = (ids: readonly string[], text: string | Buffer): string[] => {
  const named = french.subjectsInText(Buffer.from(text as string).toString('utf8'));
  return ids.filter((id) => named.has(id)).sort();
};

test.each<[string, readonly string[], string, readonly string[]]>([
  ['one in another', ['call-1', 'call-10', 'xcall-1', 'call-1x'], '["call-10","xcall-1"', ['call-10', 'xcall-1']],
  ['no quotes', ['call-1'], 'call-1 "call-1', []],
  ['quotes in an id', ['"call-1", "call-2"', 'call-1'], JSON.stringify('"call-1", "call-2"'), ['"call-1", "call-2"']],
  ['a short one, by its field only', ['1', 'é', '', '12345'], '{"unique_id" :\n "1","n":"12345","a":"é"}', ['1']],
  ['another field that ends alike', ['1', '12345'], '{"id":"1","n":"12345","unique_id":"x"}', []],
  ['the whole of a text, however short', ['c-1', 'c-123456'], '"c-1"', ['c-1']],
  ['the whole of a text without quotes', ['c-1', 'é"'], ' é"\n', ['é"']],
  ['more than one', ['c-1'], '"c-1" "x"', []],
  ['numbers', ['12345678', '17', '-3'], '{"unique_id" : 17,"x":{"unique_id":-3', ['-3', '17']],
  ['a number elsewhere', ['17'], '{"a":17}', []],
  ['fractions and longer numbers', ['17'], '[{"unique_id":17.5},{"unique_id":17e1},{"unique_id":170}]', []],
  ['escapes', ['appel-é'], '{"unique_id":"appel-\\u00e9","x":', ['appel-é']],
  ['escaped letters', ['appel-é'], '["\\u0061ppel-\\u00E9"', ['appel-é']],
  ['an escaped slash', ['2025/03/17'], '{"unique_id":"2025\\/03\\/17","x":', ['2025/03/17']],
  ['half a character', ['half\ud800half'], JSON.stringify({ unique_id: 'half\ud800half' }), ['half\ud800half']],
  ['a missing quote', ['call-1', 'call-2'], '{"a":"x,"b":"call-1"}', ['call-1']],
  ['a quote too many', ['call-1', 'call-2'], '{"a":""","b":"call-1"}', ['call-1']],
  ['a quote behind a backslash', ['call-1', 'call-2'], '\\"call-1"', ['call-1']],
])('ids in a text: %s', (_, ids, text, found) => {
  expect(find(ids, text)).toEqual(found);
});

test('bytes that are no text, sealed ones, and the ends of bodies', () => {
  const ids = ['call-1', 'call-2'];
  const body = Buffer.concat([Buffer.from([0xff, 0x22, 0xfe, 0]), Buffer.from('"call-1"')]);
  expect(find(ids, body)).toEqual(['call-1']);
  for (let end = 0; end < body.length; end += 1) expect(find(ids, body.subarray(0, end))).toEqual([]);
  expect(find(ids, createSealer(makeSealingKeys().publicKey)(body))).toEqual([]);
});

test.each([
  ['an empty text', { a: '' }],
  ['many of them', { a: ['', '', '', { '': '' }] }],
  ['a long text', { a: 'x'.repeat(1_025) }],
  ['a very long text, of escapes', { a: '"\\'.repeat(50_000) }],
])('%s hides no name behind it', (_, before) => {
  const texts = [JSON.stringify({ ...before, unique_id: 'call-123' }), `${JSON.stringify([before, 'call-123'])}{"cut`];
  for (const subjects of texts.map((text) => french.subjectsInText(text))) {
    expect(subjects).toContain('call-123');
    expect(subjects).toContain(textSubject('call-123'));
  }
});

/** Every string of a value, names of fields among them, but for empty ones. */
const stringsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  const names = Array.isArray(value) ? [] : Object.keys(value);
  return [...names, ...Object.values(value)].flatMap(stringsOf);
};

const text = fc.string({ unit: fc.constantFrom('a', ',', ':', '"', '\\', '\n', 'é', '{', '}'), maxLength: 12 });
const json = fc.jsonValue({ stringUnit: text, maxDepth: 3 });
/** Text that cannot be taken for the JSON between two strings. */
const isName = (value: string): boolean => value.length >= 6 && /[^\n:,{}]/.test(value);

test('every string of JSON is a subject', () =>
  forAll([json], {}, (value) => {
    const names = stringsOf(value).filter(isName);
    expect([...french.subjectsInText(JSON.stringify([value]))]).toEqual(
      expect.arrayContaining([...names, ...names.map(textSubject)]),
    );
  }));

test('in a text that is cut off, or from which any quote is gone, each other string is a subject as before', () =>
  forAll([fc.array(text, { minLength: 1, maxLength: 9 }), fc.nat(), fc.nat()], {}, (values, at, length) => {
    const written = values.map((value) => JSON.stringify(value));
    const broken = written.map((one, index) => (index === at % values.length ? one.slice(0, -1) : one)).join(',');
    const others = values.filter((value, index) => isName(value) && index !== at % values.length);
    expect([...french.subjectsInText(`[${broken}`)]).toEqual(expect.arrayContaining(others));
    const whole = `[${written.join(',')}]`;
    const cut = whole.slice(0, length % whole.length);
    const left = values.filter(
      (value, index) => isName(value) && `[${written.slice(0, index + 1).join(',')}`.length <= cut.length,
    );
    expect([...french.subjectsInText(cut)]).toEqual(expect.arrayContaining(left));
  }));

test.each([
  ['quotes behind backslashes', '"\\'.repeat(300_000)],
  ['an unclosed text', `"${'x'.repeat(2_000_000)}`],
  ['backslashes', `"${'\\'.repeat(1_000_000)}`],
  ['blanks behind the name of the id', `"unique_id"${' '.repeat(1_000_000)}`.repeat(2)],
])('of %s there are few subjects, and they are listed at once', (_, hostile) => {
  const from = performance.now();
  expect(french.subjectsInText(hostile).size).toBeLessThan(10);
  // Work that grows with the square of the length would take minutes.
  expect(performance.now() - from).toBeLessThan(20_000);
});
