/** How values of a request to erase are compared with what is stored. */
import type { CountryCode } from 'libphonenumber-js/max';
import { detect } from './detect.ts';
import { listDialled, normalizeNumber, writtenDigits } from './phone-number.ts';
import { openTranscript } from './redact-transcript.ts';

/**
 * @param countries of national numbers; the first is the default.
 * @param tokensOf every token that may stand for a value.
 */
export const compareValues = (countries: readonly CountryCode[], tokensOf: (value: string) => readonly string[]) => ({
  normalize: (text: string) => normalizeNumber(text, countries),
  writtenDigits,
  listDialled,
  /** What is said over several utterances too. */
  listSaid: (callData: unknown): readonly string[] => {
    // Their letters and digits are no words that somebody says.
    const spoken = openTranscript(callData).spoken.map(({ speaker, text }) => ({ speaker, text: maskTokens(text) }));
    return detect(spoken, { isOn: (name) => name === 'phone', countries, patterns: [] }).map(({ value }) => value);
  },
  tokensOf,
});

/** A word that is neither a number nor said within one, as a token is. */
const maskTokens = (text: string): string =>
  text.includes('ph_') ? text.replaceAll(/(?<![\p{L}\d])ph_[a-z\d]+_[a-z2-7]{52}(?![\p{L}\d])/gu, 'pseudonym') : text;
