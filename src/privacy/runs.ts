/** Numbers that follow each other closely enough to be one value that is dictated in parts. */
import type { Finding, Span } from './finding.ts';
import type { Budget, Groups, NumberPiece, Piece, Spoken } from './read-pieces.ts';

/** Characters that are already part of a value. */
export class Claims {
  readonly findings: Finding[] = [];
  readonly #taken = new Map<number, Uint8Array>();
  readonly #spoken: readonly Spoken[];

  constructor(spoken: readonly Spoken[]) {
    this.#spoken = spoken;
  }

  isFree(spans: readonly Span[]): boolean {
    return !spans.some(({ utterance, start, end }) => this.#taken.get(utterance)?.subarray(start, end).includes(1));
  }

  /** Whether anything is taken from one place to another. */
  hasAny(utterance: number, from: number, last: number, to: number): boolean {
    for (let at = utterance; at <= last; at += 1) {
      const own = this.#taken.get(at)?.subarray(at === utterance ? from : 0, at === last ? to : undefined);
      if (own?.includes(1) === true) return true;
    }
    return false;
  }

  /** The value has its places if they are free. */
  add(detector: string, value: string, atoms: readonly Span[]): void {
    if (atoms.length === 0 || !this.isFree(atoms)) return;
    const spans = spansOf(atoms);
    this.findings.push({ detector, value, spans });
    for (const { utterance, start, end } of spans) {
      const taken = this.#taken.get(utterance) ?? new Uint8Array(this.#spoken[utterance]?.text.length ?? 0);
      this.#taken.set(utterance, taken.fill(1, start, end));
    }
  }
}

/** One span per utterance, including the text between its parts. */
export const spansOf = (atoms: readonly Span[]): Span[] => {
  const spans: Span[] = [];
  for (const { utterance, start, end } of atoms) {
    const last = spans.at(-1);
    if (last?.utterance === utterance) spans[spans.length - 1] = { ...last, end };
    else spans.push({ utterance, start, end });
  }
  return spans;
};

/** A number of a run. */
export interface Atom extends Span {
  readonly piece: NumberPiece;
  /** Before it: 0 = nothing but fillers, 1 = another utterance, 2 = words and another utterance. */
  readonly gap: number;
  /** The speaker takes back a part of the number before it. */
  readonly isCorrected: boolean;
}

/** Words that are no fillers, of which so many may stand beside an interruption ("go on"). */
export const interruptionWords = 2;
/** The same in a correction. */
const correctingWords = 5;
/** Fewer digits count only after words that announce a value. */
export const leastDigits = 7;

/** Since the last number. */
const nothing = { words: 0, gap: 0, hasTurn: false, isCorrected: false };

export const findRuns = (pieces: readonly Piece[]): readonly Atom[][] => {
  const runs: Atom[][] = [];
  let run: Atom[] = [];
  let digits = 0;
  let before = { ...nothing };
  const end = (): void => {
    if (run.length === 0) return;
    runs.push(run);
    run = [];
    digits = 0;
  };
  for (const piece of pieces)
    if (piece.kind === 'number') {
      // Behind so many digits no amount is said, but a word that follows.
      const isAmount = piece.isQuantity && digits < leastDigits;
      if (isAmount || (before.words > 0 && !before.hasTurn && !before.isCorrected)) end();
      const { gap, isCorrected } = run.length === 0 ? nothing : before;
      const { utterance, start, end: last } = piece;
      if (!isAmount) run.push({ utterance, start, end: last, piece, gap: isCorrected ? 0 : gap, isCorrected });
      digits += piece.text.length;
      before = { ...nothing };
    } else if (run.length > 0 && piece.kind === 'turn') {
      before.gap = before.words > 0 || before.gap === 2 ? 2 : 1;
      before.words = 0;
      before.hasTurn = true;
    } else if (piece.kind !== 'turn' && !piece.isFiller) {
      before.words += 1;
      if (before.words > (before.isCorrected ? correctingWords : interruptionWords) || piece.kind === 'mark') end();
    } else if (piece.kind !== 'turn' && piece.isCorrection) before.isCorrected = true;
  end();
  return runs;
};

export const textOf = (atoms: readonly Atom[]): string => atoms.map(({ piece }) => piece.text).join('');

/** Whether a speaker pauses before an atom, or the run ends. @param level gaps above it are pauses. */
export const isPause = (run: readonly Atom[], at: number, level: number): boolean =>
  at === 0 || at === run.length || (run[at] as Atom).gap > level;

/** Some atoms of a run in one reading, `[from, to)`. */
export interface Candidate {
  readonly run: readonly Atom[];
  readonly text: string;
  readonly from: number;
  readonly to: number;
  /** The widest gap within. */
  readonly gap: number;
  /** The speaker pauses, or the run ends, on both sides: after any pause, after words of others. */
  readonly isBreaths: boolean;
  readonly isRun: boolean;
  /** A bit for each length at which an atom ends. */
  readonly ends: number;
  /** Without parts that the speaker took back. */
  readonly isCorrected: boolean;
}

const mostDigits = 19;
/** Values with check digits have as many. */
const fewestChecked = 13;
/** Digits that a correction takes back, if not as many as follow it. */
const takenBack = [2, 4, 3, 1];

/**
 * Every sequence of atoms that may be a value. Each atom that is looked at is a step of its utterance's budget.
 * @param isAmbiguous in every reading of ambiguous words, else in the first of each.
 */
export const listCandidates = (
  run: readonly Atom[],
  isAmbiguous: boolean,
  isFree: (atom: Atom) => boolean,
  budget: Budget,
  visit: (candidate: Candidate) => void,
): void => {
  const free = run.map(isFree);
  for (let from = run.length - 1; from >= 0; from -= 1) {
    if (run[from]?.piece.isChained) continue;
    const [starts, startsRun] = [isPause(run, from, 0), isPause(run, from, 1)];
    const extend = (text: string, to: number, widest: number, ends: number, isCorrected: boolean): void => {
      const atom = run[to];
      if (text.length >= leastDigits && atom?.piece.isChained !== true) {
        const isBreaths = starts && isPause(run, to, 0);
        const isRun = startsRun && isPause(run, to, 1);
        // Of a part, only a check tells whether other readings of words are meant.
        if ((widest === 0 || isBreaths) && (!isAmbiguous || isRun || text.length >= fewestChecked))
          visit({ run, text, from, to, gap: widest, isBreaths, isRun, ends, isCorrected });
      }
      if (atom === undefined || text.length >= mostDigits || free[to] !== true || !budget.spend(atom.utterance)) return;
      const gap = to > from ? Math.max(widest, atom.gap) : 0;
      const extendBy = (groups: Groups, length: number, corrects: boolean): void => {
        if (length + groups.text.length > mostDigits) return;
        const mask = (ends & ((2 << length) - 1)) | (groups.ends << length);
        extend(text.slice(0, length) + groups.text, to + 1, gap, mask, corrects);
      };
      const mayCorrect = starts && atom.isCorrected && !isCorrected;
      for (const groups of atom.piece.readings) {
        for (const back of mayCorrect ? new Set([groups.text.length, ...takenBack]) : [])
          if (back < text.length && (ends & (1 << (text.length - back))) !== 0)
            extendBy(groups, text.length - back, true);
        extendBy(groups, text.length, isCorrected);
        if (!isAmbiguous) break;
      }
    };
    extend('', from, 0, 1, false);
  }
};
