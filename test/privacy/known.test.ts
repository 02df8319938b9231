/** Values that a record itself names, in its transcript: forms of names and numbers, and ordinary words that stay. */
import { expect, test } from 'vitest';
import { scoreKnown } from '../../bench/privacy/known.ts';
import { makeTokens } from '../../src/privacy/tokens.ts';
import { openPrivacy } from '../support/rotated-keys.ts';
import { said } from './said.ts';

type Action = 'token' | 'redact' | 'drop' | 'last4' | 'keep';
const metadataRules = [
  { path: 'metadata.Client', action: 'token' },
  { path: 'metadata.*', action: 'redact' },
];
const ruled = (action: Action, rules: readonly object[] = metadataRules, settings: object = {}) =>
  openPrivacy({ rules: [{ path: 'transcript.known_values', action }, ...rules], ...settings });
const recordOf = (label: string | null, texts: string) => ({
  unique_id: 'a',
  in: { label, data: '33639981234', type: 'PHONE' },
  metadata: { Client: 'C-48213', Dept: 'SALES' },
  transcript_json: {
    callData: texts.split(' ## ').map((text, at) => said(text, at % 2 === 0 ? 'in' : 'out')),
    meta: { lang: 'fr' },
  },
});
const cleanSaid = (label: string | null, texts: string, rules = ruled('redact'), more = {}) => {
  const { fields } = rules.preview({ ...recordOf(label, texts), ...more });
  const { callData } = fields.transcript_json as { callData: readonly ReturnType<typeof said>[] };
  for (const { words, content } of callData) expect(words.map(({ value }) => value).join(' ')).toBe(content);
  return callData.map(({ content }) => content).join(' ## ');
};

const [phone] = makeTokens([{ id: 'k1', bytes: Buffer.alloc(32, 7) }], 'phone', '+33639981234');
test.each([
  // A name is found as it is said.
  ['Jean Dupont', 'bonjour jean dupont je répète d u p o n t', 'bonjour [known] … je répète [known] … … … … …'],
  ['DUPONT Jean', "jean-dupont, Jean DUPONT, dupont's", '[known] [known] [known] [known]'],
  ['Mme Thérèse Lefèvre-Béranger', 'lefevre beranger ## madame Béranger', '[known] … ## madame [known]'],
  ["Liam O'Connor", "o connor o'connor oconnor O'Connor's", '[known] … [known] [known] [known]'],
  ['Jean Le Goff', 'monsieur legoff le goff', 'monsieur [known] [known] …'],
  ['Li Wu', 'bonjour li wu on a lu ça ## je suis li', 'bonjour [known] … on a lu ça ## je suis [known]'],
  // An ordinary word is a name only where its neighbours say so.
  ['Rose Petit', 'un petit moment pour la rose, madame petit', 'un petit moment pour la rose, madame [known]'],
  ['Rose Petit', 'rose petit ## petit ## bonjour Rose', '[known] … ## [known] ## bonjour [known]'],
  ['Rose Petit', 'on dit que Petit rit. Petit rappel', 'on dit que [known] rit. Petit rappel'],
  ['Grace Will', 'I will call, grace à vous ## my name is will', 'I will call, grace à vous ## my name is [known]'],
  ['Garage Martin', 'le garage est fermé ## le garage martin', 'le garage est fermé ## le [known] …'],
  ['Service client', 'le service client est fermé', 'le service client est fermé'],
  // A number is found in digits, groups and words.
  [null, 'zéro six trente-neuf quatre-vingt-dix-huit douze trente-quatre', `${phone} … … … … …`],
  [null, 'zero six trente neuf quatre vingt dix huit douze trente quatre', `${phone} … … … … … … … … … …`],
  [null, '06 39 ## oui ## 98 12 34', `${phone} … ## oui ## … … …`],
  [null, 'le 06 39 98 56 78', 'le 06 39 98 56 78'],
  [null, 'client c 48213 aux sales', 'client [known] … aux sales'],
  [null, 'le client quarante huit mille deux cent treize', 'le client [known] … … … … …'],
  [null, 'client quarante huit deux cent treize', 'client [known] … … … …'],
  // A label may be long, marked, or of a company.
  ['[VIP] Jean Dupont', 'bonjour monsieur dupont', 'bonjour monsieur [known]'],
  ['Jean-Pierre Marie de la Tour du Pin', 'bonjour jean-pierre', 'bonjour [known]'],
  ['Max Müller', 'hier spricht mueller', 'hier spricht [known]'],
  ['Ligne directe', 'restez en ligne', 'restez en ligne'],
  ['Cabinet Médical Dupuis', 'un certificat médical', 'un certificat médical'],
  ['Bonjour', 'bonjour madame', 'bonjour madame'],
  ['Pierre', 'une pierre ici', 'une pierre ici'],
])('values that are known as %s are found in “%s”, and no others', (label, texts, kept) =>
  expect(cleanSaid(label, texts)).toBe(kept),
);

test.each([
  ['+33 6 39 98 12 34', 'mon code est 39 98 12', 'mon code est 39 98 12'],
  ['+33 6 39 98 12 34', 'le total fait 981234 points', 'le total fait 981234 points'],
])('a part of a number is not the number: %s, %s', (data, text, kept) => {
  expect(cleanSaid(null, text, ruled('redact'), { in: { label: null, data, type: 'PHONE' } })).toBe(kept);
});

test.each([
  [{ path: 'metadata.contact.name', action: 'token' }, { contact: { name: 'Jean Dupont' } }],
  [{ path: 'metadata.names', action: 'token' }, { names: ['Anne Roy', 'Jean Dupont'] }],
  [{ path: '*.Name', action: 'token' }, { Name: 'Jean Dupont' }],
] as const)('a rule names values of metadata at any depth: %j', (rule, metadata) => {
  const kept = cleanSaid(null, 'bonjour monsieur dupont', ruled('redact', [rule]), { metadata });
  expect(kept).toBe('bonjour monsieur [known]');
});

test.each(['redact', 'last4'] as const)('what stands for a value is read no more: %s', (action) => {
  const rules = ruled(action, []);
  const once = rules.preview(recordOf('Known Marie Anne', 'bonjour marie anne il est connu known marie')).fields;
  expect(rules.preview(once).fields).toEqual(once);
  expect(JSON.stringify(once.transcript_json)).not.toMatch(/anne/i);
});

test('each action replaces values in its own way, and the profile reads addresses first', () => {
  const text = 'jean dupont jean.dupont@example.com 0639981234';
  expect(cleanSaid('Jean Dupont', text, ruled('drop'))).toBe('… … … …');
  expect(cleanSaid('Jean Dupont', text, ruled('keep'))).toBe(text);
  const { fields } = ruled('token', metadataRules, { profile: 'pseudonymous' }).preview(recordOf('Jean Dupont', text));
  const { callData } = fields.transcript_json as { callData: readonly { content: string }[] };
  const [label, , email, number] = callData[0]?.content.split(' ') ?? [];
  expect(fields.in).toMatchObject({ label, data: number });
  expect(email).toMatch(/^ph_k1_/);
});

test('of drawn records nearly all names and numbers go, and nearly no other word', () => {
  const { own, gone, others, touched } = scoreKnown(1, 60, () => undefined);
  expect(gone / own).toBeGreaterThan(0.99);
  expect(touched / others).toBeLessThan(0.002);
});

test('the field of hashes holds hashes alone, whatever a record sends in it', () => {
  const sent = { ...recordOf(null, 'oui'), in: null, metadata: null, callsync_known: ['jean dupont', 'abcdef012345'] };
  expect(ruled('redact').preview(sent).fields.callsync_known).toEqual(['abcdef012345']);
  const { fields } = ruled('redact').preview({ ...sent, callsync_known: 'jean dupont' });
  expect(fields).not.toHaveProperty('callsync_known');
});
