/** Accounts: IBANs of every country, and the French form without country and check digits. */
import { composeIBAN, countrySpecs, isValidIBAN } from 'ibantools';
import type { Names } from './detect-context.ts';
import type { Piece } from './read-pieces.ts';
import { type Claims, interruptionWords } from './runs.ts';
import { listSaid, type Part, spellOut } from './spelling.ts';

/** Characters of an IBAN, by country. */
const lengths = new Map(
  Object.entries(countrySpecs).flatMap(([country, { chars }]) => (chars ? [[country, chars]] : [])),
);
/** An account that words announce has about so many characters, whatever its check digits say. */
const [fewestNamed, mostNamed] = [14, 36];
/** Characters of a French account: bank, branch, number, key. */
const lengthOfRib = 23;

export const claimIbans = (pieces: readonly Piece[], { isNamed, nameAt }: Names, claims: Claims): void => {
  if (!pieces.some((piece) => piece.kind === 'number' && claims.isFree([piece]))) return;
  const parts = spellOut(listSaid(pieces), true);
  for (const [at, part] of parts.entries()) {
    const country = countryAt(parts, at);
    const mayBegin = country !== undefined || (part.kind === 'number' && isNamed('iban', part.utterance));
    if (!mayBegin || !claims.isFree([part])) continue;
    const name = nameAt(part.utterance, part.start);
    const isTight = parts[at + 1]?.start === part.end;
    // "is 45" has a country in it only where letters are spelled, written large or at once.
    const isCountry = country !== undefined && (part.kind === 'letters' || isLarge(part) || isTight);
    const isAccount = (name === 'iban' && (isCountry || country === undefined)) || (name === 'account' && isCountry);
    const length = lengths.get(country ?? '') ?? 0;
    const own = collect(parts, at, length);
    const whole = textOf(own);
    // Written in one with its country, it needs no check.
    const isSure = isAccount || (isTight && isLarge(part)) || isValidIBAN(whole);
    if (country !== undefined && whole.length === length && isSure) claims.add('iban', whole, own);
    else if (isAccount) {
      const from = !isCountry && parts[at - 1]?.kind === 'letters' ? at - 1 : at;
      const own = collect(parts, from, mostNamed);
      const text = textOf(own);
      const isRib = text.length === lengthOfRib && /^\d{10}/.test(text);
      const value = (isRib && composeIBAN({ countryCode: 'FR', bban: text })) || text;
      if (text.length >= fewestNamed) claims.add('iban', value, own);
    }
  }
};

const textOf = (parts: readonly Part[]): string => parts.reduce((all, { text }) => all + text, '').toUpperCase();

/** A part of two letters, or two letters by themselves, with digits behind. */
const countryAt = (parts: readonly Part[], at: number): string | undefined => {
  const [one, next] = [parts[at], parts[at + 1]];
  if (one === undefined || one.kind === 'number' || one.text.length > 2) return undefined;
  const isSpelled = one.kind === 'letters' && next?.kind === 'letters';
  const text = (isSpelled ? one.text.charAt(0) + next.text.charAt(0) : one.text).toUpperCase();
  return parts[at + (isSpelled ? 2 : 1)]?.kind === 'number' && lengths.has(text) ? text : undefined;
};

/** Letters and digits from a part on, until there are enough; words beyond fillers end it. */
const collect = (parts: readonly Part[], from: number, length: number): readonly Part[] => {
  const own: Part[] = [];
  let [count, words] = [0, interruptionWords];
  for (let at = from; at < parts.length && count < length; at += 1) {
    const part = parts[at] as Part;
    const [before, next] = [parts[at - 1], parts[at + 1]];
    if (at > from && part.utterance !== before?.utterance) words = interruptionWords;
    const isGlued = before?.end === part.start || next?.start === part.end;
    const isGroup = /^[a-z]{4}$/.test(part.text) && !part.piece.isFiller;
    const isOwn = part.kind === 'word' ? isLarge(part) || isGlued || isGroup : part.kind !== 'mark';
    if (at === from || isOwn) {
      own.push(part);
      count += part.text.length;
    } else if (!part.piece.isFiller) {
      words -= 1;
      if (words < 0 || part.kind === 'mark') break;
    }
  }
  return own;
};

const isLarge = ({ piece }: Part): boolean => piece.kind === 'word' && /^[A-Z]+$/.test(piece.text);
