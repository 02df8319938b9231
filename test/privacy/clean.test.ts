/** Policies on whole records: words and text agree, tokens join, nothing planted stays, and twice is once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clean, openRules } from '../../src/privacy/clean.ts';
import { compileRules, profileRules } from '../../src/privacy/rules.ts';
import { makeTokens } from '../../src/privacy/tokens.ts';
import { forAll } from '../support/for-all.ts';
import { inheritedNames } from '../support/inherited-names.ts';
import { said } from './said.ts';

type CleanOptions = Parameters<typeof openRules>[0];
type Rules = Parameters<typeof compileRules>[0];

const key = { id: 'k1', bytes: Buffer.alloc(32, 7) };
const rules = compileRules(profileRules.pseudonymous);
const options: CleanOptions = { isOn: () => true, countries: ['FR'], patterns: [], rules, keys: [key] };
const [token] = makeTokens([key], 'phone', '+33639981234');

const transcriptOf = (...callData: readonly unknown[]) => ({ callData, callUniqueId: '', meta: { lang: 'fr' } });

type Fields = Readonly<Record<string, unknown>>;
const saidIn = (fields: Fields) =>
  (fields.transcript_json as { readonly callData: readonly ReturnType<typeof said>[] }).callData;
const own = openRules(options);
const sanitize = (fields: Fields, rules = own) => clean(fields, rules).fields;
/** Under its own rules, of which twice is once. */
const sanitizeUnder = (fields: Fields, rules: Rules) => {
  const opened = openRules({ ...options, rules: compileRules(rules) });
  const once = sanitize(fields, opened);
  expect(sanitize(once, opened)).toEqual(once);
  return once;
};

test('a transcript has each covered word and the text replaced, and keeps its timings', () => {
  const [one] = saidIn(sanitize({ transcript_json: transcriptOf(said('le zéro six 39 98 12 34 merci')) }));
  expect(one?.content).toBe(`le ${token} … … … … … merci`);
  expect(one?.words.map(({ value }) => value).join(' ')).toBe(one?.content);
  expect(one?.words.map(({ start }) => start)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test('a transcript whose text and words differ loses the whole utterance', () => {
  const other = { ...said('bonjour à tous'), content: 'appelez le 06 39 98 12 34' };
  const [one] = saidIn(sanitize({ transcript_json: transcriptOf(other) }));
  expect(one?.content).toBe(`${token} … …`);
  expect(one?.words.map(({ value }) => value)).toEqual([token, '…', '…']);
});

test('fields that nobody named are looked into: values, numbers, names, depths', () => {
  const visit = { DateOfBirth: '1985-03-12', cvv: '123', card_cvv: 742, rank: 742 };
  const extra = [{ deep: { '06 39 98 12 34': { card: '4970 1000 0000 0055' } } }];
  const usual = { unique_id: 'call-1', timestamp: '2025-03-01T10:00:00Z', duration: '182' };
  const mail = 'Jean.Dupont@example.fr';
  const result = JSON.stringify(sanitize({ ...usual, extra, visit, tracking_info: { mail } }));
  expect(result).toContain('"timestamp":"2025-03-01T10:00:00Z","duration":"182"');
  expect(result).toContain('"DateOfBirth":"[birth]","cvv":"[cvv]","card_cvv":"[cvv]","rank":742');
  expect(result).not.toMatch(/39 98|4970|dupont/i);
});

const ownRules: Rules = [
  { path: 'metadata.UDF_*', action: 'drop' },
  { path: 'metadata.ANI', action: 'last4' },
  { path: 'visit', action: 'keep' },
];
const last4: Rules = [{ path: 'Account', action: 'last4' }];
const account = 'FR76 3000 6000 0112 3456 7890 189';

test.each<[string, Rules, Fields, object]>([
  [
    'those of one’s own come before those of the profile',
    [...ownRules, ...profileRules.pseudonymous],
    { metadata: { UDF_text_01: 'x', ANI: '33639981234', Dept: 'SALES' }, visit: { phone: '0639981234' } },
    { metadata: { ANI: '…1234', Dept: 'SALES' }, visit: { phone: '0639981234' } },
  ],
  ['no speech', profileRules.no_transcript, { unique_id: 'a', transcript_json: transcriptOf() }, { unique_id: 'a' }],
  ['the last characters stay last, of any alphabet', last4, { Account: `${account} été` }, { Account: '…9été' }],
])('rules: %s', (_, rules, fields, expected) => {
  expect(sanitizeUnder(fields, rules)).toEqual(expected);
});

test.each([
  ['content', 'drop', undefined, 'oui'],
  ['content', 'token', expect.stringMatching(/^ph_k1_/), 'oui'],
  ['words', 'drop', 'oui madame', undefined],
  ['words', 'token', 'oui madame', expect.stringMatching(/^ph_k1_/)],
  ['words.value', 'drop', 'oui madame', undefined],
  ['words.value', 'last4', 'oui madame', '…'],
])('a rule acts on what was said too: %s, %s', (path, action, content, first) => {
  const rule = { path: `transcript_json.callData.${path}`, action: action as 'drop' };
  const transcript_json = transcriptOf(said('oui madame'));
  const [one] = saidIn(sanitizeUnder({ transcript_json }, [rule, ...profileRules.pseudonymous]));
  expect([one?.content, one?.words?.[0]?.value]).toEqual([content, first]);
});

test('a token in a name announces nothing, whatever its letters say', () => {
  const name = `ph_k1_2dob3${'a'.repeat(47)}`;
  const fields = { metadata: { [name]: 'le 12/03/1985' } };
  expect(sanitize(fields)).toBe(fields);
});

test('a value that begins in the name of a field is replaced in its text', () => {
  const once = sanitize({ metadata: { 'née zéro': '12 39 12/03/1985 zéro' } });
  expect(once).toEqual({ metadata: { 'née zéro': '[birth] 12/03/1985 zéro' } });
  expect(sanitize(once)).toEqual(once);
});

test('any record: doing it twice changes nothing more, and words agree with text', async () => {
  const numbers = 'zéro six trente-neuf 06 39 98 12 34 4970 1000 0000 0055 FR76 cvv 123 née le 12/03/1985';
  const word = fc.constantFrom(...`${numbers} arobase gmail point com oui`.split(' '));
  const text = fc.array(word, { minLength: 1, maxLength: 25 }).map((words) => words.join(' '));
  const record = fc.record({
    in: fc.record({ data: text, type: fc.constant('PHONE') }),
    metadata: fc.dictionary(fc.oneof(text, fc.constantFrom(...inheritedNames)), text, { maxKeys: 3 }),
    extra: fc.jsonValue({ maxDepth: 3 }),
    constructor: text,
    transcript_json: fc.array(text, { maxLength: 3 }).map((all) => transcriptOf(...all.map((line) => said(line)))),
  });
  await forAll([record], { numRuns: 100 }, (fields) => {
    const once = sanitize(fields);
    expect(sanitize(once)).toEqual(once);
    for (const { content, words } of saidIn(once)) expect(words.map(({ value }) => value).join(' ')).toBe(content);
  });
});

test('any utterance, however it is sent: twice is once', async () => {
  const word = (value: unknown) => ({ value, start: 1 });
  const list = ['06', '39', '98', '12', '34'].map(word);
  const content = 'le 06 39 98 12 34';
  const sent = fc.constantFrom<unknown>(
    said(content),
    { content },
    { words: list },
    { words: list, content: 'autre chose' },
    { words: list.map((own) => ({ ...own, raw: content })), content },
    { words: list.map((own) => ({ ...own, start: 33_639_981_234 })), content },
    { words: list.map((own) => ({ ...own, [content]: null, __proto__: null })), content: 'oui' },
    { ...said('oui'), note: content, [content]: null },
    { words: [], content },
    { words: [...list, 'x', word(7), word({ [content]: content }), content], content, from: 7 },
    JSON.parse(`{"__proto__":"${content}","content":"oui","constructor":{"toString":"${content}"}}`),
    null,
    content,
  );
  await forAll([fc.array(sent, { maxLength: 6 })], { numRuns: 100 }, (callData) => {
    const once = sanitize({ transcript_json: transcriptOf(...callData) });
    expect(JSON.stringify(once)).not.toMatch(/39 98/);
    expect(sanitize(once)).toEqual(once);
  });
});

test('rules fit names that hold dots themselves, whole or across the parts of their path', () => {
  const under = (fields: Fields, path: string) => sanitizeUnder(fields, [{ path, action: 'drop' }]);
  const metadata = { 'Account.Phone': 'a', Account: { Phone: 'b', Id: 'c' }, 'Account.Id': 'd', Phone: 'e' };
  const left = (path: string) => Object.values(under({ metadata }, path).metadata ?? {});
  expect(left('metadata.Account.Phone')).toEqual([{ Id: 'c' }, 'd', 'e']);
  expect(left('metadata.Account.*')).toEqual([{}, 'e']);
  expect(left('metadata.Account')).toEqual(['a', 'd', 'e']);
  expect(left('metadata.*Phone')).toEqual([{ Phone: 'b', Id: 'c' }, 'd']);
  const crossed = { 'a.b': { c: 1 }, a: { 'b.c': 2, b: { c: 3 } }, 'a.b.c': 4, 'a.b.d': 5 };
  expect(under(crossed, 'a.b.c')).toEqual({ 'a.b': {}, a: { b: {} }, 'a.b.d': 5 });
});
