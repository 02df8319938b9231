/** Retention limits of a call by its age, by class: words, transcripts, free fields, and the call itself. Pure. */
import type { CallDocument } from '../../schemas/call.ts';
import type { Observation } from '../../schemas/observation.ts';
import { isObject } from '../lib/parse-json.ts';
import { parseTimestamp } from '../lib/timestamps.ts';

/** Milliseconds since the time of the call, by class; undefined = no limit. */
type AgeLimits = Readonly<Partial<Record<'words' | 'transcripts' | 'freeFields' | 'calls', number | undefined>>>;

export type Ages = ReturnType<typeof createAges>;

/** Fields whose names the interface fixes; everything else is free. */
const fixed = new Set(
  'unique_id timestamp transcript_json duration ivr_end status campaign audio_state tags out in qualified qualification processed'.split(
    ' ',
  ),
);

/**
 * @param limits by class; a class without one has no limit.
 * @param now milliseconds since 1970.
 */
export const createAges = (limits: AgeLimits, now: () => number = Date.now) => {
  const ageOf = (fields: CallDocument): number => {
    const at = parseTimestamp(fields.timestamp);
    return at === undefined || at === null ? Number.NEGATIVE_INFINITY : now() - at / 1_000;
  };
  const isBeyond = (age: number, limit: number | undefined): boolean => limit !== undefined && age > limit;
  return {
    limits,
    /** Milliseconds since 1970. */
    now,
    /** Whether the call itself is too old to be kept. A call without a time never is. */
    isExpired: (fields: CallDocument) => isBeyond(ageOf(fields), limits.calls),
    /** The observation without expired parts; the same object if none has expired. Idempotent. */
    age: (observation: Observation) => {
      const age = ageOf(observation.fields);
      const isSilent = isBeyond(age, limits.transcripts);
      const isBare = isBeyond(age, limits.freeFields);
      const isWordless = isBeyond(age, limits.words);
      if (!isSilent && !isBare && !isWordless) return observation;
      const names = Object.keys(observation.fields);
      const kept = names.filter((name) => !(isSilent && name === 'transcript_json') && !(isBare && !fixed.has(name)));
      const said = isWordless && kept.includes('transcript_json') ? observation.fields.transcript_json : undefined;
      const wordless = dropWords(said);
      if (kept.length === names.length && wordless === said) return observation;
      const { encoded, ...rest } = observation;
      // Built from pairs, so that `__proto__` is a field.
      const fields: CallDocument = Object.fromEntries(
        kept.map((name) => [
          name,
          name === 'transcript_json' && wordless !== said ? wordless : observation.fields[name],
        ]),
      );
      const left = [...(encoded ?? [])].filter(([name]) => name !== 'transcript_json' && kept.includes(name));
      return { ...rest, fields, ...(left.length === 0 ? {} : { encoded: new Map(left) }) };
    },
  };
};

/** The transcript without the words of its utterances; their text stays. */
const dropWords = (transcript: unknown): unknown => {
  if (!isObject(transcript) || !Array.isArray(transcript.callData)) return transcript;
  if (!transcript.callData.some((item: unknown) => isObject(item) && 'words' in item)) return transcript;
  const callData = transcript.callData.map((item: unknown) => {
    if (!isObject(item)) return item;
    const { words: _words, ...rest } = item;
    return rest;
  });
  return { ...transcript, callData };
};
