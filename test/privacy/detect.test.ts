/** Values that pass their checks, in the ways in which they are written and said. */
import fc from 'fast-check';
import parsePhoneNumber from 'libphonenumber-js/max';
import { expect, test } from 'vitest';
import { detect } from '../../src/privacy/detect.ts';
import { readDialled } from '../../src/privacy/phone-number.ts';
import { Budget } from '../../src/privacy/read-pieces.ts';
import { makeTokens } from '../../src/privacy/tokens.ts';
import { forAll } from '../support/for-all.ts';

const options = { isOn: () => true, countries: ['FR' as const, 'GB' as const], patterns: [] };
/** `in|text` is the other speaker's. */
const say = (...lines: readonly string[]) =>
  lines.map((line) => ({ speaker: line.startsWith('in|') ? 'in' : 'out', text: line.replace(/^in\|/, '') }));
const find = (...lines: readonly string[]) =>
  detect(say(...lines), options).map(({ detector, value }) => `${detector} ${value}`);
const found = (...lines: readonly string[]) => {
  const spoken = say(...lines);
  return detect(spoken, options).flatMap(({ spans }) =>
    spans.map(({ utterance, start, end }) => spoken[utterance]?.text.slice(start, end)),
  );
};

test('digits said before a number are covered with it, and a part of each utterance', () => {
  expect(found('mon 06 c’est 06 39 98 12 34')).toEqual(['06 c’est 06 39 98 12 34']);
  const parts = found('le zéro six trente-neuf', 'in|oui', 'quatre-vingt-dix-huit douze', 'trente-quatre voilà');
  expect(parts).toEqual(['zéro six trente-neuf', 'quatre-vingt-dix-huit douze', 'trente-quatre']);
});

test.each([
  ['le 06 39 98 12 34 merci', 'phone +33639981234'],
  ['le 06.39.98.12.34', 'phone +33639981234'],
  ['0639981234', 'phone +33639981234'],
  ['+33 6 39 98 12 34', 'phone +33639981234'],
  ['+33 (0)6 39 98 12 34', 'phone +33639981234'],
  ['0033639981234', 'phone +33639981234'],
  ['33639981234', 'phone +33639981234'],
  ['zéro six trente-neuf quatre-vingt-dix-huit douze trente-quatre', 'phone +33639981234'],
  ['zero six trente neuf quatre vingt dix huit douze trente quatre', 'phone +33639981234'],
  ['zéro six trois neuf neuf huit un deux trois quatre', 'phone +33639981234'],
  ['ZÉRO SIX TROIS NEUF NEUF HUIT UN DEUX TROIS QUATRE', 'phone +33639981234'],
  ['plus trente-trois six trente-neuf quatre-vingt-dix-huit douze trente-quatre', 'phone +33639981234'],
  ['oh six three double nine eight one two three four'.replace('double nine', 'nine nine'), 'phone +33639981234'],
  ['ma carte 4970 1000 0000 0055', 'card 4970100000000055'],
  ['quarante-neuf soixante-dix dix zéro zéro', undefined],
  ['FR76 3000 6000 0112 3456 7890 189', 'iban FR7630006000011234567890189'],
  ['F R 7 6 3 0 0 0 6 0 0 0 0 1 1 2 3 4 5 6 7 8 9 0 1 8 9', 'iban FR7630006000011234567890189'],
  ['GB29 NWBK 6016 1331 9268 19', 'iban GB29NWBK60161331926819'],
  ['1 85 05 78 006 084 91', 'nir 1850578006084'],
  ['le cryptogramme est 123', 'cvv 123'],
  ['the cvv is one two three', 'cvv 123'],
  ['jean.dupont@example.fr', 'email jean.dupont@example.fr'],
  ['jean point dupont arobase gmail point com', 'email jean.dupont@gmail.com'],
  ['john dot smith at outlook dot com', 'email john.smith@outlook.com'],
  ['née le 12 mars 1985', 'birth 12 mars 1985'],
  ['né le douze mars mille neuf cent quatre-vingt-cinq', 'birth 12 mars 1985'],
  ['born on March 12th, 1985', 'birth March 12 1985'],
  ['date de naissance 12/03/1985', 'birth 12/03/1985'],
  ['la facture du 12/03/1985 est de 89,90 euros', undefined],
  ['votre numéro de sécurité sociale en 123', undefined],
  ['captured 2025-03-01 10:00:00 +0000', undefined],
  ['7a6f0000-0000-4000-8000-000000000001', undefined],
  ['rendez-vous le 12 mars à 14 heures 30', undefined],
  ['il reste trois mois sur les vingt-quatre', undefined],
  ['numéro de sécurité sociale 2 90 06 75 116 005', 'nir 2900675116005'],
  ['０６ ３９ ９８ １２ ３４', 'phone +33639981234'],
  ['06‑39‑98‑12‑34', 'phone +33639981234'],
  ['06−39−98−12−34', 'phone +33639981234'],
  ['06:39:98:12:34', 'phone +33639981234'],
  ['06_39_98_12_34', 'phone +33639981234'],
  ['06|39|98|12|34', 'phone +33639981234'],
  ['06*39*98*12*34', 'phone +33639981234'],
  ['06\u200b39\u200b98\u200b12\u200b34', 'phone +33639981234'],
  ['jean.dupont%40example.fr', 'email jean.dupont@example.fr'],
  ['jean.dupont[at]example.fr', 'email jean.dupont@example.fr'],
  ['jean.dupont (at) example (dot) fr', 'email jean.dupont@example.fr'],
  ['ｊｅａｎ＠ｅｘａｍｐｌｅ．ｆｒ', 'email jean@example.fr'],
  ['zéro six trente-neuf quatre-vingt-dix-huit vingt-deux euh non douze trente-quatre', 'phone +33639981234'],
  ['zero six trente neuf quatre vingt dix huit zéro un pardon douze trente quatre', 'phone +33639981234'],
  ['I bought it at amazon dot com', undefined],
  ['they sell shoes at zalando dot com', undefined],
  ['my email is sophie at zalando dot com', 'email sophie@zalando.com'],
])('%s → %s', (text, value) => {
  expect(find(text)).toEqual(value === undefined ? [] : [value]);
});

test('a value that is disguised is found where it stands in the text as it came', () => {
  expect(found('le ０６\u200b ３９−98 12 34 … oui')).toEqual(['０６\u200b ３９−98 12 34']);
});

const waits = 'in|attendez mon stylo ne marche plus';
const writes = 'in|ne quittez pas je prends de quoi écrire';

test.each([
  [['votre numéro de sécu sans la clé ?', 'in|2 90 06 75 116 005'], 'nir 2900675116005'],
  [['jean point dupont', 'in|oui', 'arobase gmail point com'], 'email jean.dupont@gmail.com'],
  [['jean point dupont alors', waits, 'arobase gmail point com'], 'email jean.dupont@gmail.com'],
  [['le zéro six trente-neuf', writes, 'quatre-vingt-dix-huit douze trente-quatre'], 'phone +33639981234'],
  [['in|donc le 06 39', 'oui 98 12 34'], 'phone +33639981234'],
  [['le cryptogramme 142', 'une taille 40 ou 44', 'le meuble fait 218 x 156 x 130'], 'cvv 142'],
])('over utterances: %j → %s', (lines, value) => {
  expect(find(...lines)).toEqual([value]);
});

test('the answer to a question is found by what was asked', () => {
  expect(found('in|et le cryptogramme au dos de la carte ?', 'alors un deux trois')).toEqual(['un deux trois']);
  expect(found('in|votre date de naissance', 'le 12 mars 1985')).toEqual(['12 mars 1985']);
});

test('configured patterns have their own names', () => {
  const patterns = [{ name: 'contract', pattern: /CT-\d{6}/gu }];
  const own = { detector: 'contract', value: 'CT-123456', spans: [{ utterance: 0, start: 8, end: 17 }] };
  expect(detect(say('dossier CT-123456'), { ...options, patterns })).toEqual([own]);
});

test('nothing is found in tokens and in what replaces values', () => {
  const key = { id: 'k1', bytes: Buffer.alloc(32, 7) };
  const texts = Array.from({ length: 200 }, (_, index) => makeTokens([key], 'phone', String(index))[0]);
  expect(texts.flatMap((text) => find(`le ${text} [cvv] … merci`))).toEqual([]);
});

test('any text: findings lie within it, and do not overlap', async () => {
  const said = 'zéro six vingt quatre quatre-vingt-dix cent 06 12 34 FR76 at dot @ oui née le 1985 mars + double . -';
  const words = fc.constantFrom(...said.split(' '));
  const phrase = fc.array(words, { maxLength: 30 }).map((list) => list.join(' '));
  const text = fc.oneof(phrase, fc.string({ unit: 'grapheme' }));
  await forAll([fc.array(text, { maxLength: 4 })], { numRuns: 200 }, (lines) => {
    const spoken = say(...lines);
    const ends = new Map<string, number>();
    const spans = detect(spoken, options).flatMap((finding) => finding.spans);
    for (const { utterance, start, end } of spans.sort((a, b) => a.utterance - b.utterance || a.start - b.start)) {
      expect(start).toBeGreaterThanOrEqual(ends.get(String(utterance)) ?? 0);
      expect(end).toBeGreaterThan(start);
      expect(end).toBeLessThanOrEqual(spoken[utterance]?.text.length ?? 0);
      ends.set(String(utterance), end);
    }
  });
});

const ambiguous = 'neuf cent quatre vingt dix neuf mille neuf cent quatre vingt dix neuf';
const stepsPerKilobyte = 20_000;
const spend = (...lines: readonly string[]): number => {
  const spoken = say(...lines);
  const budget = new Budget(spoken);
  detect(spoken, options, budget);
  return budget.spent / (lines.join('').length / 1_000);
};

const hostile = Array.from({ length: 100 }, () => ambiguous).join(' ');

test('work: an utterance that takes too many steps is replaced as a whole, and leaves its neighbours', () => {
  const findings = detect(say('le 06 39 98 12 34', 'merci', 'merci', 'merci', 'merci', hostile), options);
  const unread = { detector: 'unread', spans: [{ utterance: 5, start: 0, end: hostile.length }] };
  expect(findings).toMatchObject([{ detector: 'phone', spans: [{ utterance: 0 }] }, unread]);
});

test('work: halves of a number beside such an utterance go with it', () => {
  const lines = ['le 06 39 98', `12 34 ${hostile} zéro six trente-neuf`, 'in|oui', 'quatre-vingt-dix-huit douze merci'];
  expect(found(...lines).sort()).toEqual(['06 39 98', lines[1], 'quatre-vingt-dix-huit douze'].sort());
});

test('work: any text takes so many steps a kilobyte at most', async () => {
  const said = 'neuf cent quatre vingt dix mille soixante trois zéro six double oh 06 00 33 1 2 FR A cvv née at point';
  const word = fc.constantFrom(...`${said} gmail.com @ et oui secu`.split(' '));
  const phrase = fc.array(word, { minLength: 1, maxLength: 12 }).map((list) => list.join(' '));
  await forAll([phrase, fc.integer({ min: 1, max: 3 })], { numRuns: 150 }, (text, lines) => {
    const repeated = Array.from({ length: Math.ceil(1_000 / text.length) }, () => text).join(' ');
    expect(spend(...Array.from({ length: lines }, () => repeated))).toBeLessThan(stepsPerKilobyte);
  });
});

test('work: 200 kB before a sign are no address', () => {
  expect(find(`${'a'.repeat(200_000)}@`, 'a'.repeat(200_000))).toEqual([]);
  expect(found(`${'a'.repeat(200)}@example.fr`)).toEqual([`${'a'.repeat(64)}@example.fr`]);
});

/** French numbers are read without their library, and as it reads them. */
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

const readInternational = (digits: string): string | undefined => {
  const phone = parsePhoneNumber(`+${digits}`, { extract: false });
  if (phone?.isPossible() !== true) return undefined;
  const rests = [phone.nationalNumber, digitsOf(phone.formatNational())];
  return rests.some((rest) => digits === phone.countryCallingCode + rest) ? phone.number : undefined;
};

/** By the library: with its trunk prefix, or international without a plus. */
const readByLibrary = (digits: string): string | undefined => {
  const phone = parsePhoneNumber(digits, { defaultCountry: 'FR', extract: false });
  if (phone !== undefined && digitsOf(phone.formatNational()) === digits) {
    const hasTrunk = phone.nationalNumber !== digits && phone.nationalNumber.length >= 9;
    if (hasTrunk ? phone.isPossible() : phone.isValid()) return phone.number;
  }
  return digits.startsWith('33') && digits.length >= 10 ? readInternational(digits) : undefined;
};

const rest = fc.stringMatching(/^\d{5,12}$/);

test('digits as they are dialled', () =>
  forAll([fc.constantFrom('0', '06', '33', '330', '3', '1', '3336'), rest], { numRuns: 400 }, (begin, end) => {
    const digits = `${begin}${end}`;
    if (digits.startsWith('00')) return;
    expect(readDialled(digits, false, ['FR'])).toBe(readByLibrary(digits));
  }));

test('international digits', () =>
  forAll([fc.constantFrom('33', '330', '3300', '32', '44', '336'), rest], { numRuns: 200 }, (begin, end) => {
    const digits = `${begin}${end}`;
    if (digits.length > 15) return;
    expect(readDialled(digits, true, ['FR'])).toBe(readInternational(digits));
    expect(readDialled(`00${digits}`, false, ['FR'])).toBe(readInternational(digits));
  }));
