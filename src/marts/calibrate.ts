/**
 * Finds out whether fields count seconds or milliseconds: pure. The yardstick is speech itself, which takes about 15
 * characters a second in every language; fields without text are measured against those whose unit it tells. Between the
 * two units is a factor of 1,000, so a yardstick that is right within a factor of 16 is enough.
 */
import type { CallDocument } from '../../schemas/call.ts';
import type { UnitField } from '../../schemas/config/analytics.ts';

/** Times as sent; what was not sent as a number is left out. */
export interface SampledCall {
  readonly duration?: number | undefined;
  readonly ivrEnd?: number | undefined;
  readonly utterances: readonly SampledUtterance[];
}

interface SampledUtterance {
  readonly start?: number | undefined;
  readonly duration?: number | undefined;
  readonly characters: number;
  readonly words: readonly {
    readonly start?: number | undefined;
    readonly length?: number | undefined;
    readonly characters: number;
  }[];
}

export interface UnitFinding {
  readonly field: UnitField;
  /** `cannot tell` also where calls disagree, or too few say anything. */
  readonly unit: 'seconds' | 'milliseconds' | 'cannot tell';
  /** Lower bound (95 %) of the part of calls that agree, 0 to 1. */
  readonly confidence: number;
  readonly evidence: string;
}

const charactersPerSecond = 15;
/** Powers of ten by which a value may be off its yardstick. */
const tolerance = 1.2;
const leastVotes = 5;
/** Least lower bound: five calls that all agree are just enough. */
const leastConfidence = 0.55;

/** One finding a field, in the order of `unitFields`. */
export const inferUnits = (calls: readonly SampledCall[]): readonly UnitFinding[] => {
  const wordLength = judge('word_length', votesOf(calls, measureWordLengths), 'word length against its letters');
  const wordStart = judge('word_start', votesOf(calls, measureWordStarts), 'steps between words against their letters');
  const length = judge('utterance_duration', votesOf(calls, measureDurations), 'utterance length against its letters');
  const start = judge(
    'utterance_start',
    votesOf(calls, measureStarts),
    'steps between utterances against their letters',
  );
  const factor = factorOf(start.unit);
  const last = (call: SampledCall): number | undefined =>
    factor === undefined ? undefined : Math.max(...call.utterances.map((one) => (one.start ?? 0) * factor), 0);
  const first = (call: SampledCall): number | undefined => {
    const starts = call.utterances.flatMap((one) => (one.start === undefined ? [] : [one.start]));
    return factor === undefined || starts.length === 0 ? undefined : Math.min(...starts) * factor;
  };
  const duration = judge(
    'call_duration',
    votesOf(calls, (call) => ratioOf(call.duration, last(call))),
    'call duration against the start of its last utterance',
  );
  const ivrEnd = judge(
    'ivr_end',
    votesOf(calls, (call) => ratioOf(call.ivrEnd, first(call))),
    'end of the IVR part against the start of the first utterance',
  );
  return [duration, ivrEnd, start, length, wordStart, wordLength];
};

type Vote = 'seconds' | 'milliseconds';

/** @param measure how many times as large as expected in seconds; undefined where the call says nothing. */
const votesOf = (calls: readonly SampledCall[], measure: (call: SampledCall) => number | undefined): Vote[] =>
  calls.flatMap((call) => {
    const ratio = measure(call);
    if (ratio === undefined || !(ratio > 0) || !Number.isFinite(ratio)) return [];
    const power = Math.log10(ratio);
    if (Math.abs(power) < tolerance) return ['seconds'];
    return Math.abs(power - 3) < tolerance ? ['milliseconds'] : [];
  });

const judge = (field: UnitField, votes: readonly Vote[], what: string): UnitFinding => {
  const seconds = votes.filter((vote) => vote === 'seconds').length;
  const winner = seconds * 2 >= votes.length ? 'seconds' : 'milliseconds';
  const most = Math.max(seconds, votes.length - seconds);
  const confidence = lowerBound(most, votes.length);
  const isClear = votes.length >= leastVotes && most / votes.length >= 0.9 && confidence >= leastConfidence;
  const counted = `${seconds} of ${votes.length} calls say seconds, ${votes.length - seconds} milliseconds`;
  return {
    field,
    unit: isClear ? winner : 'cannot tell',
    confidence: Number(confidence.toFixed(3)),
    evidence: `${what}: ${votes.length === 0 ? 'no call says anything' : counted}`,
  };
};

/** Of a share, by Wilson's score at 95 %. */
const lowerBound = (hits: number, of: number): number => {
  if (of === 0) return 0;
  const z = 1.96;
  const share = hits / of;
  const spread = z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  return (share + (z * z) / (2 * of) - spread) / (1 + (z * z) / of);
};

const ratioOf = (value: number | undefined, expectedSeconds: number | undefined): number | undefined =>
  value === undefined || expectedSeconds === undefined || expectedSeconds <= 0 ? undefined : value / expectedSeconds;

const factorOf = (unit: UnitFinding['unit']): number | undefined =>
  ({ seconds: 1, milliseconds: 0.001, 'cannot tell': undefined })[unit];

const spokenIn = (characters: number): number => characters / charactersPerSecond;

const measureWordLengths = ({ utterances }: SampledCall): number | undefined => {
  const words = utterances.flatMap((one) => one.words).filter(({ length }) => (length ?? 0) > 0);
  return ratioOf(
    sum(words, ({ length }) => length),
    spokenIn(sum(words, ({ characters }) => characters)),
  );
};

const measureDurations = ({ utterances }: SampledCall): number | undefined => {
  const timed = utterances.filter(({ duration }) => (duration ?? 0) > 0);
  return ratioOf(
    sum(timed, ({ duration }) => duration),
    spokenIn(sum(timed, ({ characters }) => characters)),
  );
};

/** From the first word of each utterance to its last, against the letters of all but the last. */
const measureWordStarts = ({ utterances }: SampledCall): number | undefined => {
  let [length, characters] = [0, 0];
  for (const { words } of utterances) {
    const steps = words.filter(({ start }) => start !== undefined);
    const [first, last] = [steps[0], steps.at(-1)];
    if (first?.start === undefined || last?.start === undefined || last.start <= first.start) continue;
    length += last.start - first.start;
    characters += sum(steps.slice(0, -1), (word) => word.characters + 1);
  }
  return ratioOf(length, spokenIn(characters));
};

/** From the start of the first utterance to that of the last, against the letters of all but the last. */
const measureStarts = ({ utterances }: SampledCall): number | undefined => {
  const steps = utterances.filter(({ start }) => start !== undefined).sort((a, b) => (a.start ?? 0) - (b.start ?? 0));
  const [first, last] = [steps[0]?.start, steps.at(-1)?.start];
  if (first === undefined || last === undefined) return undefined;
  return ratioOf(last - first, spokenIn(sum(steps.slice(0, -1), ({ characters }) => characters)));
};

const sum = <T>(items: readonly T[], measure: (item: T) => number | undefined): number =>
  items.reduce((total, item) => total + (measure(item) ?? 0), 0);

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
