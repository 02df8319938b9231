/** Numbers that follow each other closely enough to be one value that is dictated in parts. */
import type { Piece } from './read-pieces.ts';

/** A part of a value: digits, or letters where a value may have them. */
export interface Atom {
  readonly text: string;
  readonly utterance: number;
  readonly start: number;
  readonly end: number;
  /** What else the same words may mean. */
  readonly others: readonly string[];
  readonly isInternational: boolean;
}

/** Words that are no fillers, of which so many may stand after an interruption ("go on"), or between the parts of a value. */
export const interruptionWords = 2;

/** Fewer digits are no value but behind words that announce one. */
export const leastDigits = 7;

/**
 * @param mostWords words other than fillers that may stand between two parts: none for values without a check digit.
 */
export const findRuns = (pieces: readonly Piece[], mostWords: number): Atom[][] => {
  const runs: Atom[][] = [];
  let run: Atom[] = [];
  let left = mostWords;
  const end = (): void => {
    if (run.length > 0) runs.push(run);
    run = [];
  };
  for (const piece of pieces) {
    if (piece.kind === 'number') {
      run.push(piece);
      left = mostWords;
    } else if (piece.kind === 'turn') left = Math.max(left, interruptionWords);
    else if (!piece.isFiller) {
      left -= 1;
      if (left < 0 || piece.kind === 'mark') end();
    }
  }
  end();
  return runs;
};

export const isFiller = (piece: Piece): boolean => piece.kind === 'turn' || (piece.kind !== 'number' && piece.isFiller);

export interface Candidate {
  readonly atoms: readonly Atom[];
  readonly text: string;
}

/** Sequences looked at from one beginning: ambiguous words multiply. */
const mostCandidates = 500;

/** Every sequence of whole atoms with a length within the limits, in the first reading of each word, longest first from each beginning. */
export function* listCandidates(run: readonly Atom[], least: number, most: number): Generator<Candidate> {
  for (let from = 0; from < run.length; from += 1) {
    const found: Candidate[] = [];
    let text = '';
    for (let to = from; to < run.length && text.length < most; to += 1) {
      text += (run[to] as Atom).text;
      if (text.length >= least && text.length <= most) found.push({ atoms: run.slice(from, to + 1), text });
    }
    yield* found.reverse();
  }
}

/** As `listCandidates`, in every reading of ambiguous words. */
export function* listAmbiguous(run: readonly Atom[], least: number, most: number): Generator<Candidate> {
  if (run.every(({ others }) => others.length === 0)) return;
  for (let from = 0; from < run.length; from += 1) {
    const found: Candidate[] = [];
    const extend = (to: number, text: string): void => {
      if (text.length > most || found.length > mostCandidates) return;
      if (text.length >= least) found.push({ atoms: run.slice(from, to), text });
      const atom = run[to];
      if (atom === undefined) return;
      for (const heard of [atom.text, ...atom.others]) extend(to + 1, text + heard);
    };
    extend(from, '');
    yield* found.sort((a, b) => b.text.length - a.text.length);
  }
}

/** Characters of a run, in the longest reading of each word. */
export const mostCharacters = (run: readonly Atom[]): number =>
  run.reduce(
    (sum, { text, others }) => sum + others.reduce((most, { length }) => Math.max(most, length), text.length),
    0,
  );

export const textOf = (atoms: readonly Atom[]): string => atoms.map(({ text }) => text).join('');
