/** Retention limits of a call by its age, by class: words, transcripts, free fields, and the call itself. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { callFields } from '../../schemas/call.ts';
import type { Observation } from '../../schemas/observation.ts';
import type { JsonRecord } from '../lib/json-record.ts';
import { isObject, mergeRaw, pathKeys, type Raw, valueAt } from '../lib/parse-json.ts';
import { parseTimestamp } from '../lib/timestamps.ts';
import { knownField } from './own-fields.ts';

/** Milliseconds since the time of the call, by class; undefined = no limit. */
type AgeLimits = Readonly<Partial<Record<'words' | 'transcripts' | 'freeFields' | 'calls', number | undefined>>>;

export type Ages = ReturnType<typeof createAges>;

/**
 * @param limits by class; a class without one has no limit.
 * @param now milliseconds since 1970.
 * @param needed paths of fields that callsync itself reads, such as the times of axes: no age takes them.
 */
export const createAges = (limits: AgeLimits, now: () => number = Date.now, needed: readonly string[] = []) => {
  const ageOf = (fields: JsonRecord): number => {
    const at = parseTimestamp(fields.value('timestamp'));
    return at === undefined || at === null ? Number.NEGATIVE_INFINITY : now() - at / 1_000;
  };
  const isBeyond = (age: number, limit: number | undefined): boolean => limit !== undefined && age > limit;
  return {
    limits,
    /** Milliseconds since 1970. */
    now,
    /** Whether the call itself is too old to be kept. A call without a time never is. */
    isExpired: (fields: JsonRecord) => isBeyond(ageOf(fields), limits.calls),
    /** The observation without expired parts; the same object if none has expired. Idempotent. */
    age: (observation: Observation) => {
      const age = ageOf(observation.fields);
      const isSilent = isBeyond(age, limits.transcripts);
      const isBare = isBeyond(age, limits.freeFields);
      const isWordless = isBeyond(age, limits.words);
      if (!isSilent && !isBare && !isWordless) return observation;
      let { fields } = observation;
      for (const name of fields.names) {
        const isSpoken = name === 'transcript_json';
        const isWhole = isSpoken
          ? !isSilent
          : !isBare || name === knownField || callFields.get(name)?.age === 'essential';
        if (isWhole && !(isSpoken && isWordless)) continue;
        const value = fields.value(name);
        const rest = isWhole ? dropWords(value) : keepNeeded(name, value, needed);
        if (!isDeepStrictEqual(rest, value)) fields = fields.with({ [name]: rest });
      }
      return fields === observation.fields ? observation : { ...observation, fields };
    },
  };
};

/** Of a field only the values at the needed paths; undefined where there are none. */
const keepNeeded = (name: string, value: unknown, needed: readonly string[]): unknown => {
  let kept: Raw | undefined;
  for (const keys of needed.map(pathKeys)) {
    const found = keys[0] === name ? valueAt(value, keys.slice(1).join('.')) : undefined;
    if (found === undefined) continue;
    const nested = keys.reduceRight((inner: unknown, key) => ({ [key]: inner }), found) as Raw;
    kept = mergeRaw(kept ?? {}, nested);
  }
  return kept?.[name];
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
