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
import type { Reading } from './number-words.ts';
import { chooseUtterances } from './prescan.ts';
import { joinTurns, type Piece, readPieces, type Spoken } from './read-pieces.ts';

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
export const detect = (spoken: readonly Spoken[], options: DetectOptions): readonly Finding[] => {
  const claims = createClaims();
  const chosen = chooseUtterances(spoken, options.isOn);
  if (chosen !== undefined) {
    if (options.isOn('email')) {
      for (const [index, { text }] of spoken.entries()) findWrittenEmails(text, index).forEach(claims.add);
    }
    for (const reading of orderReadings(spoken)) detectSpoken(spoken, chosen, reading, options, claims);
  }
  for (const { name, pattern } of options.patterns) claimPattern(spoken, name, pattern, claims);
  return claims.findings;
};

const hyphened =
  /\b(?:vingt|trente|quarante|cinquante|soixante|dix|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-\p{L}/iu;

/** Where hyphens are written, words without one are numbers of their own. */
const orderReadings = (spoken: readonly Spoken[]): readonly Reading[] =>
  spoken.some(({ text }) => hyphened.test(text)) ? ['split', 'whole'] : ['whole', 'eager'];

const passedOver = { kind: 'mark', key: '', start: 0, end: 0, isSpaced: false } as const;

const detectSpoken = (
  spoken: readonly Spoken[],
  chosen: readonly boolean[],
  reading: Reading,
  options: DetectOptions,
  claims: Claims,
): void => {
  const { isOn } = options;
  const pieces = spoken.map(({ text }, utterance): readonly Piece[] => {
    if (text === '') return [];
    // What is passed over parts what stands before it from what stands behind it.
    return chosen[utterance] === true ? readPieces(text, utterance, reading) : [{ ...passedOver, utterance }];
  });
  if (isOn('email')) for (const own of pieces) claimSpokenEmails(own, claims);
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
