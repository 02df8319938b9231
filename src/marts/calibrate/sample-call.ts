/** What calibration looks at of a call document; text counts by its length alone. */
import type { CallDocument } from '../../../schemas/call.ts';
import type { SampledCall } from './infer-units.ts';

/**
 * Takes what tells of units from a call document (interface §2.1 and §2.3). Numbers stay in the unit that the service sent;
 * what is no number reads as undefined.
 */
export const sampleCall = (document: CallDocument): SampledCall => {
  const transcript = objectOf(document.transcript_json);
  return {
    duration: numberOf(document.duration),
    ivrEnd: numberOf(document.ivr_end) ?? numberOf(objectOf(transcript.meta).ivr_end),
    utterances: listOf(transcript.callData).map((utterance) => ({
      start: numberOf(utterance.datetime),
      duration: numberOf(utterance.duration),
      characters: lengthOf(utterance.content),
      words: listOf(utterance.words).map((word) => ({
        start: numberOf(word.start),
        length: numberOf(word.length),
        characters: lengthOf(word.value),
      })),
    })),
  };
};

type Fields = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(objectOf) : []);
const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

/** Also a number that is sent as text, as the interface shows for the duration of a call. */
const numberOf = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
};
