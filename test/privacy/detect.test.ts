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
/** "## " parts utterances; a country before the text stands in place of FR and GB. */
const find = (text: string) => {
  const [, country, said = ''] = /^(?:\[(\w\w)\] )?(.*)$/s.exec(text) ?? [];
  const own = country === undefined ? options : { ...options, countries: [country as 'US'] };
  return detect(say(...said.split(' ## ')), own).map(({ detector, value }) => `${detector} ${value}`);
};
const found = (...lines: readonly string[]) => {
  const spoken = say(...lines);
  return detect(spoken, options).flatMap(({ spans }) =>
    spans.map(({ utterance, start, end }) => spoken[utterance]?.text.slice(start, end)),
  );
};

const waits = 'in|attendez mon stylo ne marche plus';
const writes = 'in|ne quittez pas je prends de quoi écrire';
const iban = 'FR76 3000 6000 0112 3456 7890 189';

test.each<[string, string?]>([
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
  ['quarante-neuf soixante-dix dix zéro zéro'],
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
  // An account with a misheard character, a plus of a telephone, a long correction.
  ['voici FR7630006000011234567890188 merci', 'iban FR7630006000011234567890188'],
  ['GB29 NWBK 6016 1331 9268 18', 'iban GB29NWBK60161331926818'],
  ['+4970100000000055', 'phone +4970100000000055'],
  ['06 39 98 sorry wait let me start that again 12 34', 'phone +33639981234'],
  [
    'zéro six trente neuf non je me suis trompé de ligne quatre vingt dix huit douze trente quatre',
    'phone +33639981234',
  ],
  ["j'ai un mal de dos de 250"],
  ['sur le dos de la boîte il y a 482'],
  ['commande_0639981234'],
  ['ABCDEFG0639981234'],
  ['jean point dupont point arobase orange point fr', 'email jean.dupont@orange.fr'],
  ['x@y.a.a.a.a.a.a.a.a.a.a.com', 'email x@y.a.a.a.a.a.a.a.a.a.a.com'],
  ['la facture du 12/03/1985 est de 89,90 euros'],
  ['votre numéro de sécurité sociale en 123'],
  ['captured 2025-03-01 10:00:00 +0000'],
  ['7a6f0000-0000-4000-8000-000000000001'],
  ['rendez-vous le 12 mars à 14 heures 30'],
  ['il reste trois mois sur les vingt-quatre'],
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
  ['I bought it at amazon dot com'],
  ['they sell shoes at zalando dot com'],
  ['my email is sophie at zalando dot com', 'email sophie@zalando.com'],
  ['[US] 212 555 ## in|ok ## 0187', 'phone +12125550187'],
  ['[ES] 612 34 ## in|vale ## 56 78', 'phone +34612345678'],
  ['call +44 (0)7700 900106', 'phone +447700900106'],
  ['+49 1512 3456788', 'phone +4915123456788'],
  ['+52 1 55 1234 5678', 'phone +5215512345678'],
  ['+229 97 12 34 56', 'phone +22997123456'],
  ['[FR] 0700 1234567890', 'phone +337001234567890'],
  ['0692 12 34 56', 'phone +262692123456'],
  ['+33 6 92 12 34 56', 'phone +262692123456'],
  ['zéro six quatre-vingt-seize douze trente-quatre cinquante-six', 'phone +596696123456'],
  ['double 09 ... 06 39 98 2 fois 33', 'phone +33639983333'],
  ['deux fois'],
  ['plus 33 6 39 98 12 34', 'phone +33639981234'],
  ['06, 39, 98, 12, 34', 'phone +33639981234'],
  ["[GB] it's oh, seven seven double oh, nine double oh, one two three", 'phone +447700900123'],
  ['06 12 34 ah non 35 56 78', 'phone +33612355678'],
  ['zéro six trente-neuf quatre-vingt-dix-huit douze je me trompe treize trente-quatre', 'phone +33639981334'],
  ['[GB] 07700 900 no wait 911 123', 'phone +447700911123'],
  ['[GB] 07700 let me see 900 123', 'phone +447700900123'],
  ['in|numéro de carte bleue ## 4970 1000 0000 0065', 'card 4970100000000065'],
  ['in|numéro de carte bleue ## 4970 ## in|oui ## 1000 0000 ## in|oui ## 0065', 'card 4970100000000065'],
  ['ma carte 4970 1000 0000 ah non 0000 0055', 'card 4970100000000055'],
  ['in|votre iban ## FR76 3000 6000 0112 3456 7890 188', 'iban FR7630006000011234567890188'],
  ['gb29 nwbk 6016 1331 9268 19', 'iban GB29NWBK60161331926819'],
  ['MT84MALT011000012345MTLCAST001S', 'iban MT84MALT011000012345MTLCAST001S'],
  ['N O 93 86 01 11 17 947', 'iban NO9386011117947'],
  ['golf bravo 29 november whiskey bravo kilo 6016 1331 9268 19', 'iban GB29NWBK60161331926819'],
  ['F comme François R comme Robert 76 3000 6000 0112 3456 7890 189', 'iban FR7630006000011234567890189'],
  ['rib 30006 00001 12345678901 89', 'iban FR7630006000011234567890189'],
  ['mon numéro INSEE 1 85 03 75 116 005', 'nir 1850375116005'],
  ['my social security number 1 85 03 75 116 005', 'nir 1850375116005'],
  ['sécu 272082A00411223', 'nir 272082A004112'],
  ['in|votre numéro de sécu ## 1 85 03 ah non 04 75 116 005', 'nir 1850475116005'],
  ['ma sécu un quatre-vingt-cinq zéro trois treize cent seize zéro zéro cinq', 'nir 1850313116005'],
  ['mon mail camille1976 @ exemple.fr', 'email camille1976@exemple.fr'],
  ['mon mail camille 1976 arobase exemple point fr', 'email camille1976@exemple.fr'],
  ['prenom tiret bas nom arobase exemple point fr', 'email prenom_nom@exemple.fr'],
  ['prenom tiret du six nom arrobase exemple point fr', 'email prenom-nom@exemple.fr'],
  ["prenom trait d'union nom arobase exemple point fr", 'email prenom-nom@exemple.fr'],
  ['prenom point nom arobase la poste point net', 'email prenom.nom@laposte.net'],
  ['prenom point nom arobase g mail point com', 'email prenom.nom@gmail.com'],
  ['prenom arobase agence 24 point fr', 'email prenom@agence24.fr'],
  ['a n a comme Anatole m comme Marcel arobase exemple point fr', 'email anam@exemple.fr'],
  ['[GB] c a m p b e double l at example dot co dot uk', 'email campbell@example.co.uk'],
  ['écrivez-moi à d u p o n t arobase exemple point fr', 'email dupont@exemple.fr'],
  ['prenom point nom euh arobase ## in|oui ## exemple point fr', 'email prenom.nom@exemple.fr'],
  ["[GB] in|and the three digit code ## that's 143", 'cvv 143'],
  ['my cv2 is 143', 'cvv 143'],
  ['les chiffres au dos 143', 'cvv 143'],
  ['le code de vérification est le 143', 'cvv 143'],
  ['[US] born 07/21/76', 'birth 07 21 76'],
  ['née le douze février zéro quatre', 'birth 12 février 0 4'],
  ['in|votre date de naissance ## 12 mars ## in|de quelle année ## 1985', 'birth 12 mars 1985'],
  ['je suis née en mars 1985', 'birth mars 1985'],
  ['né le zéro sept zéro deux mille neuf cent cinquante', 'birth 0 7 0 2950'],
  ['elle expire en 12/27', 'expiry 12 27'],
  ['in|la date de fin de validité ## mars deux mille vingt-sept', 'expiry mars 2027'],
  ['the card expires oh nine twenty eight', 'expiry 0 9 28'],
  ['la carte finit par 0055', 'last4 0055'],
  ['in|the last four digits of your card ## zero zero five five', 'last4 0055'],
  ['mon numéro de compte est le 12345678901', 'account 12345678901'],
  ['[GB] sort code 20-00-00 account 12345678', 'account 200000; account 12345678'],
  ['votre numéro de sécu sans la clé ? ## in|2 90 06 75 116 005', 'nir 2900675116005'],
  ['jean point dupont ## in|oui ## arobase gmail point com', 'email jean.dupont@gmail.com'],
  [`jean point dupont alors ## ${waits} ## arobase gmail point com`, 'email jean.dupont@gmail.com'],
  [`le zéro six trente-neuf ## ${writes} ## quatre-vingt-dix-huit douze trente-quatre`, 'phone +33639981234'],
  ['in|donc le 06 39 ## oui 98 12 34', 'phone +33639981234'],
  ['le cryptogramme 142 ## une taille 40 ou 44 ## le meuble fait 218 x 156 x 130', 'cvv 142'],
  [`mon compte est ${iban} ## la référence commence par 435 595`, 'iban FR7630006000011234567890189'],
  // Nobody’s numbers.
  ['la maison coûte deux cent soixante seize mille sept cent quatre vingt sept euros'],
  ['la voiture a deux cent trente et un mille cinq cent trente six kilomètres'],
  ['un budget de trente-trois mille deux cent cinquante euros'],
  ['il y en a neuf cent quatre vingt dix neuf mille neuf cent quatre vingt dix neuf'],
  ['[US] I ordered one thousand six hundred sixty three of them'],
  ['[US] the grant is two hundred seventy six thousand seven hundred eighty seven dollars'],
  ['[US] sizes 34 36 38 40 and 42'],
  ['[US] the router is at 233.154.5.232'],
  ['[US] the total is 1,250,000,000 dollars'],
  ['[US] the countdown 10 9 8 7 6 5 4 3 2 1'],
  ['le colis express 4006381333931'],
  ['je vous assure que la commande 2720827500411 est partie'],
  ['ISBN 978-0-316-34285-8'],
  ['le code-barres est 0012345678905'],
  ['les quatre derniers chiffres de la commande sont 4512'],
  ['je suis de permanence le 12 mars 2026'],
  ["l'offre est valable jusqu'au 31 décembre 2026"],
  ['la carte est passée ça fait 576,90 euros'],
])('%s → %s', (text, value = '') => {
  expect(find(text).join('; ')).toBe(value);
});

test.each([
  [['mon 06 c’est 06 39 98 12 34'], ['06 c’est 06 39 98 12 34']],
  [
    ['le zéro six trente-neuf', 'in|oui', 'quatre-vingt-dix-huit douze', 'trente-quatre voilà'],
    ['zéro six trente-neuf', 'quatre-vingt-dix-huit douze', 'trente-quatre'],
  ],
  [['le ０６\u200b ３９−98 12 34 … oui'], ['０６\u200b ３９−98 12 34']],
  [['in|et le cryptogramme au dos de la carte ?', 'alors un deux trois'], ['un deux trois']],
  [['in|votre date de naissance', 'le 12 mars 1985'], ['12 mars 1985']],
])('a value is covered as it came, with digits before it, in each utterance: %j', (lines, covered) => {
  expect(found(...lines)).toEqual(covered);
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

const ambiguous = 'soixante dix sept quatre vingt dix neuf';
const stepsPerKilobyte = 20_000;
const spend = (...lines: readonly string[]): number => {
  const spoken = say(...lines);
  const budget = new Budget(spoken);
  detect(spoken, options, budget);
  return budget.spent / (lines.join('').length / 1_000);
};

const hostile = Array.from({ length: 200 }, () => ambiguous).join(' ');

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

test('work: readings of words that may each begin the next number are few', () => {
  for (const phrase of ['vingt quatre', 'quatre vingt dix', 'soixante dix neuf cent'])
    expect(() => find(`${phrase} `.repeat(1_000))).not.toThrow();
});

test('work: 200 kB before a sign are no address', () => {
  expect(find(`${'a'.repeat(200_000)}@ ## ${'a'.repeat(200_000)}`)).toEqual([]);
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

/** Numbers of departments overseas have calling codes of their own. */
const isOverseas = (digits: string): boolean =>
  /^(?:0|330?)(?:26[239]|59[046]|639|69[0-7]|700)|^(?:262|59[046])/.test(digits);

const rest = fc.stringMatching(/^\d{5,12}$/);

test('digits as they are dialled', () =>
  forAll([fc.constantFrom('0', '06', '33', '330', '3', '1', '3336'), rest], { numRuns: 400 }, (begin, end) => {
    const digits = `${begin}${end}`;
    if (digits.startsWith('00') || isOverseas(digits)) return;
    expect(readDialled(digits, false, ['FR'])).toBe(readByLibrary(digits));
  }));

test('international digits', () =>
  forAll([fc.constantFrom('33', '330', '3300', '32', '44', '336'), rest], { numRuns: 200 }, (begin, end) => {
    const digits = `${begin}${end}`;
    if (digits.length > 15 || isOverseas(digits)) return;
    expect(readDialled(digits, true, ['FR'])).toBe(readInternational(digits));
    expect(readDialled(`00${digits}`, false, ['FR'])).toBe(readInternational(digits));
  }));
