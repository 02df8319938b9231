/**
 * Finds out whether fields count seconds or milliseconds. Pure.
 * The yardstick is speech, which has about 15 characters a second in every language. Fields without text are measured
 * against fields with a known unit. The units differ by a factor of 1,000, so an error below a factor of 16 is
 * harmless.
 */
import type { UnitField } from '../../schemas/config/analytics.ts';
import type { WordArrays } from '../../schemas/tables.ts';
import type { FlatRows } from '../warehouse/warehouse.ts';

type SampledCall = ReturnType<typeof sampleCall>;

/** An utterance, or a word: times as sent, null where they are no numbers. */
interface Spoken {
  readonly start: number | null;
  readonly length: number | null;
  readonly characters: number;
}

type UnitFinding = ReturnType<typeof judge>;

const charactersPerSecond = 15;
/** Most powers of ten between a value and its yardstick. */
const tolerance = 1.2;
const leastVotes = 5;
/** Least lower bound: five calls that all agree are just enough. */
const leastConfidence = 0.55;

const wordsOf = ({ utterances }: SampledCall): readonly (readonly Spoken[])[] => utterances.map(({ words }) => words);
const startsOf = ({ utterances }: SampledCall): readonly number[] => utterances.flatMap(({ start }) => start ?? []);

/** One finding a field, in the order of `unitFields`. */
export const inferUnits = (calls: readonly SampledCall[]): readonly UnitFinding[] => {
  const find = (field: UnitField, what: string, measure: (call: SampledCall) => number): UnitFinding => {
    const votes = calls.flatMap((call) => voteOf(measure(call)));
    return judge(field, what, votes);
  };
  const starts = find('utterance_start', 'steps between utterances against their letters', ({ utterances }) =>
    compareSteps([utterances]),
  );
  const factor = { seconds: 1, milliseconds: 0.001, 'cannot tell': Number.NaN }[starts.unit];
  return [
    find(
      'call_duration',
      'call duration against the start of its last utterance',
      (call) => (call.duration ?? 0) / (Math.max(...startsOf(call), 0) * factor),
    ),
    find(
      'ivr_end',
      'end of the IVR part against the start of the first utterance',
      (call) => (call.ivrEnd ?? 0) / (Math.min(...startsOf(call)) * factor),
    ),
    starts,
    find('utterance_duration', 'utterance length against its letters', ({ utterances }) => compareLengths(utterances)),
    find('word_start', 'steps between words against their letters', (call) => compareSteps(wordsOf(call))),
    find('word_length', 'word length against its letters', (call) => compareLengths(wordsOf(call).flat())),
  ];
};

/** @param ratio how many times as large as expected in seconds; no positive number where the call says nothing. */
const voteOf = (ratio: number): ('seconds' | 'milliseconds')[] => {
  const power = Math.log10(ratio);
  if (Math.abs(power) < tolerance) return ['seconds'];
  return Math.abs(power - 3) < tolerance ? ['milliseconds'] : [];
};

const judge = (field: UnitField, what: string, votes: readonly ('seconds' | 'milliseconds')[]) => {
  const seconds = votes.filter((vote) => vote === 'seconds').length;
  const winner = seconds * 2 >= votes.length ? 'seconds' : 'milliseconds';
  const most = Math.max(seconds, votes.length - seconds);
  const bound = votes.length === 0 ? 0 : lowerBound(most, votes.length);
  const isClear = votes.length >= leastVotes && most / votes.length >= 0.9 && bound >= leastConfidence;
  /** `cannot tell` also where calls disagree, or too few say anything. */
  const unit = isClear ? winner : 'cannot tell';
  /** Lower bound (95 %) of the part of calls that agree, 0 to 1. */
  const confidence = Number(bound.toFixed(3));
  const counted = `${seconds} of ${votes.length} calls say seconds, ${votes.length - seconds} milliseconds`;
  const evidence = `${what}: ${votes.length === 0 ? 'no call says anything' : counted}`;
  return { field, unit, confidence, evidence } as const;
};

/** Lower bound of a share, by Wilson's score at 95 %. */
const lowerBound = (hits: number, of: number): number => {
  const z = 1.96;
  const share = hits / of;
  const spread = z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  return (share + (z * z) / (2 * of) - spread) / (1 + (z * z) / of);
};

const compareLengths = (all: readonly Spoken[]): number => {
  const timed = all.filter(({ length }) => (length ?? 0) > 0);
  return sum(timed, ({ length }) => length ?? 0) / (sum(timed, ({ characters }) => characters) / charactersPerSecond);
};

/** From the first of each sequence to its last, against the letters of all but the last. */
const compareSteps = (sequences: readonly (readonly Spoken[])[]): number => {
  const timed = sequences.map((all) =>
    all
      .flatMap(({ start, characters }) => (start === null ? [] : [{ start, characters }]))
      .sort((a, b) => a.start - b.start),
  );
  const length = sum(timed, (all) => (all.at(-1)?.start ?? 0) - (all[0]?.start ?? 0));
  const letters = sum(timed, (all) => sum(all.slice(0, -1), ({ characters }) => characters + 1));
  return length / (letters / charactersPerSecond);
};

const sum = <T>(items: readonly T[], measure: (item: T) => number): number =>
  items.reduce((total, item) => total + measure(item), 0);

/** The values that show units, from the rows of a call. Numbers keep the service's unit. */
export const sampleCall = ({ calls: [call], utterances }: Pick<FlatRows, 'calls' | 'utterances'>) => ({
  duration: call?.duration as number | null,
  ivrEnd: call?.ivr_end as number | null,
  utterances: utterances.map(({ start_offset, duration, content, words }) => ({
    start: start_offset as number | null,
    length: duration as number | null,
    characters: (content as string | null)?.length ?? 0,
    words: spokenWords(words as WordArrays),
  })),
});

const spokenWords = ({ value, start, length }: WordArrays): readonly Spoken[] =>
  value.map((word, at) => ({ start: start[at] ?? null, length: length[at] ?? null, characters: word?.length ?? 0 }));
