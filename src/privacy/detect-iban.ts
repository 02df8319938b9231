/** Accounts: IBANs of every country, and the French form without country and check digits. */
import { countrySpecs, isValidIBAN } from 'ibantools';
import type { Finding } from './finding.ts';
import type { Announced } from './languages/language.ts';
import { isFiller, type Piece } from './read-pieces.ts';
import { type Claims, interruptionWords } from './runs.ts';
import { alphabet, keyOf, listSaid, type Part, type Said, spellOut } from './spelling.ts';

/** Characters of an IBAN, by country. */
const lengths = new Map(
  Object.entries(countrySpecs).flatMap(([country, { chars }]) => (chars ? [[country, chars]] : [])),
);
/** An account that words announce has about so many characters, whatever its check digits say. */
const [fewestNamed, mostNamed] = [14, 36];

const rest97 = (text: string): number =>
  Number(BigInt(text.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55))) % 97n);
const hasCheck = (value: string): boolean => rest97(`${value.slice(4)}${value.slice(0, 4)}`) === 1;

const ibanBegins = /(?<![\p{L}\d])(?:[A-Z]{2}|[a-z]{2})(?=[ -]?\d ?\d)/gu;
/** Also in small letters, with letters of any number, and with blanks anywhere. */
export const findWrittenIbans = (text: string, utterance: number): Finding[] =>
  [...text.matchAll(ibanBegins)].flatMap(({ 0: country, index }) => {
    const length = lengths.get(country.toUpperCase());
    if (length === undefined) return [];
    const isLarge = country === country.toUpperCase();
    const one = isLarge ? '[A-Z\\d]' : '[a-z\\d]';
    const own = new RegExp(`^(?:${one}[ .-]?){${length - 1}}${one}(?![\\p{L}\\d])`, 'u').exec(text.slice(index))?.[0];
    const value = own?.replaceAll(/[ .-]/g, '').toUpperCase() ?? '';
    // Written in one with its country, it needs no check.
    const isSure = value !== '' && (hasCheck(value) || (isLarge && /^\d\d/.test(text.slice(index + 2))));
    return isSure
      ? [{ detector: 'iban', value, spans: [{ utterance, start: index, end: index + (own ?? '').length }] }]
      : [];
  });

/** @param nameAt the kind of value that words announce at a place. */
export const claimIbans = (
  pieces: readonly Piece[],
  nameAt: (utterance: number, start: number) => Announced | undefined,
  claims: Claims,
): void => {
  const said = listSaid(pieces);
  if (!said.some((piece, at) => piece.kind === 'number' && mayBelong(said, at, nameAt))) return;
  const parts = spellOut(said, true);
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as Part;
    const country = countryAt(parts, at);
    if ((country === undefined && part.kind !== 'number') || !claims.isFree([part])) continue;
    const name = nameAt(part.utterance, part.start);
    // "is 45" has a country in it only where letters are spelled, written large or at once.
    const isCountry =
      country !== undefined && (part.kind === 'letters' || isLarge(part) || parts[at + 1]?.start === part.end);
    const isNamed = part.kind === 'number' ? name === 'iban' : isCountry && (name === 'iban' || name === 'account');
    const length = lengths.get(country ?? '');
    const ways = length === undefined ? [] : [false, true].map((isLoose) => collect(parts, at, length, isLoose));
    const own =
      ways.find((way) => isValidIBAN(textOf(way))) ?? ways.find((way) => isNamed && textOf(way).length === length);
    if (own !== undefined && claims.isFree(own)) claims.add('iban', textOf(own), own);
    else if (isNamed) {
      const from = !isCountry && parts[at - 1]?.kind === 'letters' ? at - 1 : at;
      claimNamed(collect(parts, from, mostNamed, isCountry), claims);
    }
  }
};

const textOf = (parts: readonly Part[]): string =>
  parts
    .map(({ text }) => text)
    .join('')
    .toUpperCase();

/** Nearly no number has a country before it. */
const mayBelong = (said: readonly Said[], at: number, nameAt: Parameters<typeof claimIbans>[1]): boolean => {
  const [before, first] = [said[at - 1], said[at] as Said];
  const isLetter = (piece: Said | undefined): boolean =>
    piece?.kind === 'word' && (piece.key.length === 1 || alphabet.has(piece.key));
  // "R comme Robert 76"
  if (isLetter(before) || isLetter(said[at - 3]) || lengths.has(keyOf(before).toUpperCase())) return true;
  const name = nameAt(first.utterance, first.start);
  return name === 'iban' || name === 'account';
};

const claimNamed = (own: readonly Part[], claims: Claims): void => {
  const text = textOf(own);
  if (text.length < fewestNamed || !claims.isFree(own)) return;
  claims.add('iban', text.length === 23 && /^\d{10}/.test(text) ? ofFrance(text) : text, own);
};

/** The IBAN of a French account (bank, branch, number, key). */
const ofFrance = (account: string): string => `FR${String(98 - rest97(`${account}152700`)).padStart(2, '0')}${account}`;

/** A part of two letters, or two letters by themselves, with digits behind. */
const countryAt = (parts: readonly Part[], at: number): string | undefined => {
  const [one, next] = [parts[at], parts[at + 1]];
  const isSpelled = one?.kind === 'letters' && next?.kind === 'letters';
  const text = (isSpelled ? one.text.charAt(0) + next.text.charAt(0) : (one?.text ?? '')).toUpperCase();
  return lengths.has(text) && parts[at + (isSpelled ? 2 : 1)]?.kind === 'number' ? text : undefined;
};

/**
 * Letters and digits from a part on, until there are enough; words beyond fillers end it.
 * @param isLoose whether words of four small letters may be a group of the account.
 */
const collect = (parts: readonly Part[], from: number, length: number, isLoose: boolean): readonly Part[] => {
  const own: Part[] = [];
  let [count, words] = [0, interruptionWords];
  for (let at = from; at < parts.length && count < length; at += 1) {
    const part = parts[at] as Part;
    const [before, next] = [parts[at - 1], parts[at + 1]];
    if (at > from && part.utterance !== before?.utterance) words = interruptionWords;
    const isGlued = before?.end === part.start || next?.start === part.end;
    const isGroup =
      part.kind === 'word' && (isLarge(part) || isGlued || (/^[a-z]{4}$/.test(part.text) && (isLoose || count === 4)));
    if (part.kind === 'letters' || part.kind === 'number' || at === from || isGroup) {
      own.push(part);
      count += part.text.length;
    } else if (!isFiller(part.piece)) {
      words -= 1;
      if (words < 0 || part.kind === 'mark') break;
    }
  }
  return own;
};

const isLarge = ({ piece }: Part): boolean => piece.kind === 'word' && /^[A-Z]+$/.test(piece.text);
