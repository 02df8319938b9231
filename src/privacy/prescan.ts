/**
 * Which utterances may hold a personal value: nearly all talk holds none, and reading a number out of words costs fifty times
 * this look at them. It may choose too many, never too few.
 */
import { announces } from './detect-context.ts';
import type { DetectorName } from './finding.ts';
import type { Heard } from './hear.ts';
import { interruptionWords, leastDigits } from './number-runs.ts';
import { longestInterruption } from './read-pieces.ts';
import type { Sketch } from './sketch.ts';

/** Neighbours that may hold the beginning of a value, such as the letters of an account, or its end. */
const reach = 2;

/** Words by which digits without a check of their own may be a social security number. */
const nirWords = /s[eé]cu|vitale|assur|matricul|\bnir\b|ss\b/i;

/** @returns whether each utterance is to be read; undefined where none is. */
export const chooseUtterances = (
  spoken: readonly Heard[],
  isOn: (name: DetectorName) => boolean,
): readonly boolean[] | undefined => {
  const sketches: Sketch[] = [];
  let hasNumber = false;
  for (const { sketch: one } of spoken) {
    if (one === undefined) return spoken.map(() => true);
    sketches.push(one);
    hasNumber ||= one.hasNumber;
  }
  let chosen: boolean[] | undefined;
  const choose = (from: number, to: number): void => {
    chosen ??= spoken.map(() => false);
    for (let at = Math.max(0, from - reach); at <= to + reach && at < chosen.length; at += 1) chosen[at] = true;
  };
  for (const [index, { hasAddress }] of sketches.entries()) if (hasAddress) choose(index, index);
  if (!hasNumber) return chosen;
  chooseRuns(spoken, sketches, choose);
  if (isOn('cvv') || isOn('birth')) {
    for (const [index, heard] of spoken.entries()) {
      let isAnswered = false;
      for (let at = index; at <= index + reach; at += 1) isAnswered ||= sketches[at]?.hasNumber === true;
      if (isAnswered && heard.mayAnnounce && announces(heard.text)) choose(index, index);
    }
  }
  if (chosen !== undefined && isOn('nir')) {
    for (const [index, { text }] of spoken.entries()) if (nirWords.test(text)) chosen[index] = true;
  }
  return chosen;
};

/** Numbers close enough to each other to be dictated in parts, of each speaker and of all, that have digits enough. */
const chooseRuns = (
  spoken: readonly Heard[],
  sketches: readonly Sketch[],
  choose: (from: number, to: number) => void,
): void => {
  const speakers = new Set(spoken.map(({ speaker }) => speaker));
  for (const wanted of speakers.size === 1 ? [undefined] : [...speakers, undefined]) {
    let digits = 0;
    let words = interruptionWords;
    let begin = 0;
    let last = 0;
    for (const [index, sketch] of sketches.entries()) {
      if (wanted !== undefined && spoken[index]?.speaker !== wanted) continue;
      if (index - last > longestInterruption) digits = 0;
      last = index;
      // Words count only behind a number.
      if (digits === 0 && !sketch.hasNumber) continue;
      words = Math.max(words, interruptionWords);
      for (const part of sketch.parts) {
        if (part < 0) {
          words += part;
          if (words < 0) digits = 0;
          continue;
        }
        if (digits === 0) begin = index;
        digits += part;
        words = interruptionWords;
        if (digits >= leastDigits) choose(begin, index);
      }
    }
  }
};
