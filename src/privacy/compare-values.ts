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
    const { spoken } = openTranscript(callData);
    return detect(spoken, { isOn: (name) => name === 'phone', countries, patterns: [] }).map(({ value }) => value);
  },
  tokensOf,
});
