/**
 * Finds personal values in what was said or written. Pure; the same text gives the same findings.
 *
 * Order decides where two could be meant: a written address, then values with check digits (IBAN, card, NIR), then telephone
 * numbers, then what its context gives away, then configured patterns.
 */
import type { CountryCode } from 'libphonenumber-js/max';
import { claimBirths, claimCvvs } from './detect-context.ts';
import { claimSpokenEmails, findWrittenEmails } from './detect-email.ts';
import { type Claims, createClaims, detectNumbers } from './detect-numbers.ts';
import type { DetectorName, Finding } from './finding.ts';
import { type Heard, hear } from './hear.ts';
import type { Reading } from './number-words.ts';
import { chooseUtterances } from './prescan.ts';
import { joinTurns, type Piece, type Spoken } from './read-pieces.ts';

export interface DetectOptions {
  /** Detectors that look; the others find nothing. */
  readonly isOn: (name: DetectorName) => boolean;
  /** ISO codes of the countries whose national numbers are telephone numbers; the first is the default. */
  readonly countries: readonly CountryCode[];
  /** Patterns of the configuration, by name. */
  readonly patterns: readonly { readonly name: string; readonly pattern: RegExp }[];
}

/**
 * Finds the values in a conversation.
 * @param spoken pieces in the order in which they were said; findings name a piece by its index and the place in its text.
 * No two findings overlap.
 */
export const detect = (spoken: readonly Spoken[], options: DetectOptions): readonly Finding[] =>
  detectHeard(spoken.map(hear), options);

/** As `detect`, for who asks again after a value was replaced: utterances that stayed are not read anew. */
export const detectHeard = (spoken: readonly Heard[], options: DetectOptions): readonly Finding[] => {
  const claims = createClaims();
  const chosen = chooseUtterances(spoken, options.isOn);
  if (chosen !== undefined) {
    if (options.isOn('email')) {
      for (const [index, { text }] of spoken.entries()) findWrittenEmails(text, index).forEach(claims.add);
    }
    let before: Pieces | undefined;
    for (const reading of orderReadings(spoken)) {
      const pieces = piecesOf(spoken, chosen, reading);
      // The same pieces hold the same values, and those are claimed.
      if (before === undefined || !before.every((own, index) => isCovered(pieces[index] ?? [], own)))
        detectIn(spoken, pieces, options, claims);
      before = pieces;
    }
  }
  for (const { name, pattern } of options.patterns) claimPattern(spoken, name, pattern, claims);
  return claims.findings;
};

const hyphened =
  /\b(?:vingt|trente|quarante|cinquante|soixante|dix|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-\p{L}/iu;

/** Where hyphens are written, words without one are numbers of their own. */
const orderReadings = (spoken: readonly Spoken[]): readonly Reading[] =>
  spoken.some(({ text }) => text.includes('-') && hyphened.test(text)) ? ['split', 'whole'] : ['whole', 'eager'];

/** Of each utterance. */
type Pieces = readonly (readonly Piece[])[];

/** What is passed over parts what stands before it from what stands behind it; it is part of no finding. */
const passedOver: readonly Piece[] = [
  { kind: 'mark', key: '', utterance: -1, start: 0, end: 0, isSpaced: false, isFiller: false },
];

const piecesOf = (spoken: readonly Heard[], chosen: readonly boolean[], reading: Reading): Pieces =>
  spoken.map((heard, utterance) => {
    if (heard.text === '') return [];
    return chosen[utterance] === true ? heard.piecesIn(reading) : passedOver;
  });

/** Whether pieces say nothing that another reading of the same utterance does not say too. */
const isCovered = (pieces: readonly Piece[], other: readonly Piece[]): boolean =>
  pieces.length === other.length &&
  pieces.every((piece, index) => {
    const same = other[index];
    if (piece.kind !== 'number') return piece.kind === same?.kind;
    if (same?.kind !== 'number' || piece.text !== same.text || piece.end !== same.end) return false;
    return piece.others.every((heard) => same.others.includes(heard));
  });

const detectIn = (spoken: readonly Heard[], pieces: Pieces, options: DetectOptions, claims: Claims): void => {
  const { isOn } = options;
  // Where only one piece stands there is no address.
  if (isOn('email')) for (const own of pieces) if (own.length > 1) claimSpokenEmails(own, claims);
  for (const stream of joinTurns(spoken, pieces)) detectNumbers(stream, options, claims);
  if (isOn('cvv')) claimCvvs(spoken, pieces, claims);
  if (isOn('birth')) claimBirths(spoken, pieces, claims);
};

const claimPattern = (spoken: readonly Spoken[], name: string, pattern: RegExp, claims: Claims): void => {
  for (const [utterance, { text }] of spoken.entries()) {
    for (const match of text.matchAll(pattern)) {
      const span = { utterance, start: match.index, end: match.index + match[0].length };
      if (match[0] !== '' && claims.isFree(span)) claims.add({ detector: name, value: match[0], spans: [span] });
    }
  }
};
