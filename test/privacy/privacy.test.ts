/** The door: what is stored of deliveries and records under privacy rules, and what is not. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import type { RejectedRecord } from '../../schemas/observation.ts';
import { JsonRecord, readRecord } from '../../src/lib/json-record.ts';
import { isObject, parseQuietly } from '../../src/lib/parse-json.ts';
import { createOpener, createSealer, isSealed } from '../../src/lib/sealed.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';
import { forAll } from '../support/for-all.ts';
import { inheritedNames } from '../support/inherited-names.ts';
import { makeSealingKeys, openPrivacy } from '../support/rotated-keys.ts';
import { said } from './said.ts';

const keys = makeSealingKeys();
const config = privacyConfigSchema.parse({ profile: 'pseudonymous', seal_key_file: 'public.pem' });
const privacy = createPrivacy(config, { token: Buffer.alloc(32, 7), seal: keys.publicKey });
const patterns = [{ name: 'contract', pattern: 'CT-\\d+' }];
const refused = { reason: 'not JSON', source: 'poll', origin: 'list', receivedAt: new Date(0) } as const;
const rejectedOf = (body: Buffer): RejectedRecord => ({ ...refused, body });

test.each([
  ['a name that comes twice leaves no first value behind', '"Note":"0639981234","Note":"nothing"', '"Note":"nothing"'],
  ['numbers beyond a double stay readable', '"n":1e999', '"n":"1e999"'],
])('%s', (_, sent, stored) => {
  expect(privacy.admit(Buffer.from(`{"unique_id":"a",${sent}}`)).body.toString()).toBe(`{"unique_id":"a",${stored}}`);
});

test.each([
  ['a name twice in a word', '{"from":"in","words":[{"value":"0639981234","value":"oui"}],"content":"oui"}'],
  ['a name twice in an utterance', '{"content":"0639981234","words":[{"value":"oui"}],"content":"oui"}'],
  ['digits beyond a double', '{"words":[{"value":"oui","at":1.00000000000000033639981234}],"content":"oui"}'],
  ['a name in other letters', '{"words":[{"v\\u0061lue":"0639981234","value":"oui"}],"content":"oui"}'],
  ['a name beside 1e400', '{"words":[{"value":"oui","06 39 98 12 34":1e400}],"content":"oui"}'],
])('a transcript says no more than its value: %s', (_what, utterance) => {
  for (const padding of ['', 'x'.repeat(600)]) {
    const body = `{"unique_id":"a","transcript_json":{"callData":[${utterance}],"padding":"${padding}"}}`;
    const { body: kept } = privacy.admit(Buffer.from(body));
    expect(kept.toString()).not.toMatch(/39981234|39 98/);
    expect(privacy.admit(kept).body.equals(kept)).toBe(true);
  }
});

test('a field that no rule touches says no more than its value', () => {
  const rules = [privacy, openPrivacy({ rules: [{ path: 'in.data', action: 'token' }] })];
  const filler = 'x'.repeat(600);
  const many = Array.from({ length: 100 }, (_, index) => `"n${index}":0`).join(',');
  for (const twice of ['"x":"0639981234","x":""', `"x":"0639981234",${many},"x":""`]) {
    const body = `{"unique_id":"a","Notes":{"filler":"${filler}","list":[{"y":1},{${twice}}]}}`;
    for (const { admit } of rules) expect(admit(Buffer.from(body)).body.toString()).not.toContain('39981234');
    expect(JsonRecord.of(readRecord(Buffer.from(body)).value)?.json('Notes')).toBeUndefined();
  }
});

test('what is stored of bytes says what the rules leave of their value', async () => {
  const actions = { 'in.data': 'token', 'metadata.x': 'drop', visit: 'redact' };
  const fields = openPrivacy({ rules: Object.entries(actions).map(([path, action]) => ({ path, action })) });
  const text = fc.oneof(fc.string(), fc.constantFrom('0639981234', 'a@b.fr', '"', '\\', '}', 'zéro six 39 98 12 34'));
  const leaf = fc.oneof(text, fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null));
  const key = fc.oneof(text, fc.constantFrom('data', 'x', 'content', ...inheritedNames));
  const { value } = fc.letrec<{ value: unknown }>((tie) => {
    const list = fc.array(tie('value'), { maxLength: 4 });
    return { value: fc.oneof({ maxDepth: 3 }, leaf, list, fc.dictionary(key, tie('value'), { maxKeys: 4 })) };
  });
  const name = fc.constantFrom('in', 'metadata', 'visit', 'transcript_json', 'other', 'timestamp', ...inheritedNames);
  await forAll([fc.dictionary(name, value, { maxKeys: 6 }), fc.boolean()], { numRuns: 80 }, (record, isSpaced) => {
    const body = JSON.stringify({ ...record, unique_id: 'a' }, null, isSpaced ? 2 : undefined);
    for (const rules of [fields, privacy]) {
      const admitted: unknown = JSON.parse(rules.admit(Buffer.from(body)).body.toString());
      const read = JSON.parse(body) as Record<string, unknown>;
      expect(admitted).toEqual(JSON.parse(JSON.stringify(rules.preview(read).fields)));
    }
  });
});

test('whatever bytes come, no value under a rule is stored in clear', async () => {
  const secret = '0639981234';
  const rules = [{ path: 'in.data', action: 'token' } as const, { path: 'metadata', action: 'drop' } as const];
  const ruled = openPrivacy({ rules });
  const filler = 'x'.repeat(600);
  const record = {
    unique_id: 'a',
    transcript_json: { callData: [{ content: 'a "b" [c] {d}', words: [] }] },
    in: { data: secret, type: 'PHONE' },
    other: [[{}, 1e3], '\\', null],
    metadata: { ANI: secret },
  };
  const long = { in: { filler, ...record.in }, other: { filler }, metadata: { filler, ...record.metadata } };
  const texts = [record, { ...record, ...long }].flatMap((one) => [JSON.stringify(one), JSON.stringify(one, null, 1)]);
  const change = fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...'{}[]",:\\ 0x\u0000'));
  const changed = fc.tuple(fc.constantFrom(...texts), fc.array(change, { minLength: 1, maxLength: 4 }));
  await forAll([changed], { numRuns: 2_000 }, ([text, changes]) => {
    const sent = changes.reduce((before, [at, taken, put]) => {
      const place = at % before.length;
      return before.slice(0, place) + put + before.slice(place + taken);
    }, text);
    const kept = ruled.admit(Buffer.from(sent)).body.toString();
    const read = parseQuietly(Buffer.from(sent));
    if (!isObject(read) || typeof read.unique_id !== 'string') expect(kept).not.toContain(secret);
    else if (kept.includes(secret)) expect(JSON.parse(kept)).toEqual(ruled.preview(read).fields);
  });
  const broken = ruled.admit(Buffer.from(`{"unique_id":"a","x":[},"in":{"data":"${secret}"}}`));
  expect(broken.body.toString()).not.toContain(secret);
});

test('what other rules have cleaned before is no more dropped than sealed', () => {
  const dropping = (byte: number) => openPrivacy(undefined, byte);
  const { body } = dropping(1).admit(Buffer.from('{"unique_id":"a","in":{"data":"33639981234"}}'));
  expect(dropping(2).seal(rejectedOf(body)).body).toEqual(body);
});

test.each([
  '{"unique_id":"a","ANI":"0639981234',
  '[{"unique_id":"a","ANI":"0639981234"}]',
  '{"ANI":"0639981234"}',
  `{"unique_id":"a","x":${'['.repeat(300)}"0639981234"${']'.repeat(300)}}`,
])('what no rule can read is sealed once, known again, and opens with its key: %.40s', (text) => {
  const admitted = privacy.admit(Buffer.from(text));
  const listed = privacy.seal(rejectedOf(Buffer.from(text)));
  for (const { body, bodyHash } of [admitted, listed, privacy.seal(rejectedOf(Buffer.from(text)))]) {
    expect(isSealed(body)).toBe(true);
    expect(body.includes('0639981234')).toBe(false);
    expect(createOpener(keys.privateKey)(body)?.toString()).toBe(text);
    expect(createOpener(makeSealingKeys().privateKey)(body)).toBeUndefined();
    expect(bodyHash).toEqual(admitted.bodyHash);
  }
  expect(privacy.seal(listed)).toEqual(listed);
});

test('a sealed body that was changed does not open', () => {
  const sealed = createSealer(keys.publicKey)(Buffer.from('x'.repeat(100)));
  const open = createOpener(keys.privateKey);
  for (const at of [4, 40, 60, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    expect(open(changed)).toBeUndefined();
  }
});

test('the version changes with what changes what is stored', () => {
  const under = { token: Buffer.alloc(32), seal: keys.publicKey };
  const versionOf = (settings: object) =>
    createPrivacy(privacyConfigSchema.parse({ ...config, ...settings }), under).version;
  const detectors = { disabled_detectors: ['birth'] };
  const versions = [{}, { profile: 'no_transcript' }, { countries: ['GB'] }, detectors, { patterns }].map(versionOf);
  expect(new Set(versions).size).toBe(versions.length);
  expect(versionOf({ unreadable: 'drop' })).toBe(versions[0]);
});

/** The list of what was replaced in a transcript: places and detectors of each span, and nothing that a sender made up. */
const openPseudonymous = (settings: object) => openPrivacy({ profile: 'pseudonymous', ...settings });
const ruled = openPseudonymous({ patterns });

type Span = readonly [utterance: number, first: number, last: number];
type Transcript = { readonly callData: readonly unknown[]; readonly callsync_redactions?: readonly Span[] };
/** The transcript under the rules, the same from its value and from its bytes. */
const pass = (transcript: object, { admit, preview } = ruled): Transcript => {
  const record = { unique_id: 'a', transcript_json: transcript };
  const { transcript_json: kept } = preview(record).fields;
  const { body } = admit(Buffer.from(JSON.stringify(record)));
  expect(JSON.parse(body.toString())).toEqual({ unique_id: 'a', transcript_json: kept });
  return kept as Transcript;
};
const listOf = (...callData: readonly unknown[]) => pass({ callData }).callsync_redactions;

test('has the words of each span, in their order, and the version of the detector', () => {
  const card = said('la carte 4970 1000 0000 0055 et le cryptogramme 123');
  const list = listOf(said('oui bonjour'), card, said('le 06 39 98 12 34, ou CT-771'));
  const spans = ['[1,2,5,"card",4]', '[1,9,9,"cvv",3]', '[2,1,5,"phone",4]', '[2,7,7,"contract",null]'];
  expect(list?.map((span) => JSON.stringify(span))).toEqual(spans);
});

test('names no words where text and words differ, or where there are none', () => {
  const differs = { ...said('bonjour à tous'), content: 'appelez le 06 39 98 12 34' };
  const list = listOf(differs, { content: 'le 06 39 98 12 34' });
  expect(list).toEqual([0, 1].map((utterance) => [utterance, null, null, 'phone', 4]));
});

test('is absent where nothing was found, and costs such a transcript no byte', () => {
  const body = Buffer.from('{"unique_id":"a","transcript_json":{"callData":[{"words":[],"content":"oui"}],"meta":{}}}');
  expect(ruled.admit(body).body).toEqual(body);
  expect(pass({ callData: [said('bonjour')] })).toEqual({ callData: [said('bonjour')] });
});

test('stays when the words go, and a rule may leave it out', () => {
  const dropping = (path: string) => openPseudonymous({ rules: [{ path: `transcript_json.${path}`, action: 'drop' }] });
  const first = pass({ callData: [said('le 06 39 98 12 34')] }, dropping('callData.words'));
  expect(first.callsync_redactions).toEqual([[0, 1, 5, 'phone', 4]]);
  expect(pass(first, dropping('callData.words'))).toEqual(first);
  const without = dropping('callsync_redactions');
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
  const kept = (list: unknown) =>
    pass({ callData: [said('oui madame')], callsync_redactions: list }).callsync_redactions;
  expect(kept(sent)).toBeUndefined();
  const own = [0, 0, 1, 'phone', 1];
  expect(kept([...(Array.isArray(sent) ? sent : []), own])).toEqual([own]);
});

test('a preview tells which rules decided about no field', () => {
  const rules = ['metadata.Account.Phone', 'metadata.Acount.Mail', 'visit'].map((path) => ({ path, action: 'token' }));
  const config = privacyConfigSchema.parse({ rules, unreadable: 'drop' });
  const { preview, unmatched } = createPrivacy(config, { token: Buffer.alloc(32), seal: undefined });
  const { fields } = preview({ metadata: { 'Account.Phone': '+33639981234', 'Account.Mail': 'a@example.com' } });
  expect(JSON.stringify(fields)).not.toContain('+33639981234');
  expect(unmatched()).toEqual(['metadata.Acount.Mail', 'visit']);
});
