/** Numbers that follow each other closely enough to be one value that is dictated in parts. */
import type { Budget, Piece } from './read-pieces.ts';

/** A part of a value: digits, or letters where a value may have them. */
export interface Atom {
  readonly text: string;
  readonly utterance: number;
  readonly start: number;
  readonly end: number;
  /** Other readings of the same words. */
  readonly others: readonly string[];
  readonly isInternational: boolean;
}

/** Words that are no fillers, of which so many may stand after an interruption ("go on"), or between the parts of a value. */
export const interruptionWords = 2;

/** Fewer digits count only after words that announce a value. */
export const leastDigits = 7;

/**
 * @param mostWords words other than fillers that may stand between two parts: none for values without a check digit. None, and no
 * other utterance, in one breath.
 */
export const findRuns = (pieces: readonly Piece[], mostWords: number | 'one breath'): Atom[][] => {
  const isBreath = mostWords === 'one breath';
  const allowed = isBreath ? 0 : mostWords;
  const runs: Atom[][] = [];
  let run: Atom[] = [];
  let left = allowed;
  const end = (): void => {
    if (run.length > 0) runs.push(run);
    run = [];
  };
  for (const piece of pieces) {
    if (piece.kind === 'number') {
      run.push(piece);
      left = allowed;
    } else if (piece.kind === 'turn') {
      if (isBreath) end();
      left = isBreath ? 0 : Math.max(left, interruptionWords);
    } else if (!piece.isFiller) {
      left -= 1;
      if (left < 0 || piece.kind === 'mark') end();
    }
  }
  end();
  return runs;
};

export const isFiller = (piece: Piece): boolean => piece.kind === 'turn' || (piece.kind !== 'number' && piece.isFiller);

export type Candidate = { readonly atoms: readonly Atom[]; readonly text: string };

/** Targets of the search in a run. */
export interface Shape {
  readonly least: number;
  readonly most: number;
  /** False where no value begins with these characters: nothing that goes on with them is read. */
  mayBegin(text: string, first: Atom): boolean;
}

export interface Manner {
  /** In every reading of ambiguous words, else in the first of each. */
  readonly isAmbiguous?: boolean;
  /** The whole run only. */
  readonly isWhole?: boolean;
}

/**
 * Every sequence of whole atoms that may have the shape, longest first from each beginning. Each atom that is looked at is a step of
 * its utterance's budget.
 */
export function* listCandidates(
  run: readonly Atom[],
  shape: Shape,
  { isAmbiguous = false, isWhole = false }: Manner,
  budget: Budget,
): Generator<Candidate> {
  if (mostCharacters(run) < shape.least) return;
  if (isAmbiguous && run.every(({ others }) => others.length === 0)) return;
  if (isWhole && !isAmbiguous) {
    const text = textOf(run);
    const isOfShape = text.length >= shape.least && text.length <= shape.most;
    if (!isOfShape || !run.every(({ utterance }) => budget.spend(utterance))) return;
    if (shape.mayBegin(text, run[0] as Atom)) yield { atoms: run, text };
    return;
  }
  if (isAmbiguous && !run.every(({ utterance, others }) => budget.spend(utterance, others.length))) return;
  const [leastBehind, mostBehind] = [
    new Array<number>(run.length + 1).fill(0),
    new Array<number>(run.length + 1).fill(0),
  ];
  for (let at = run.length - 1; at >= 0; at -= 1) {
    const { text, others } = run[at] as Atom;
    let [least, most] = [text.length, text.length];
    for (const { length } of isAmbiguous ? others : [])
      [least, most] = [Math.min(least, length), Math.max(most, length)];
    leastBehind[at] = (leastBehind[at + 1] as number) + least;
    mostBehind[at] = (mostBehind[at + 1] as number) + most;
  }
  if (isWhole && (leastBehind[0] as number) > shape.most) return;
  for (let from = 0; from < (isWhole ? 1 : run.length); from += 1) {
    const first = run[from] as Atom;
    const found: { readonly to: number; readonly text: string }[] = [];
    const extend = (to: number, text: string): void => {
      if (text.length > shape.most || text.length + (mostBehind[to] as number) < shape.least) return;
      if (isWhole && text.length + (leastBehind[to] as number) > shape.most) return;
      if (to > from && !shape.mayBegin(text, first)) return;
      if (text.length >= shape.least && (!isWhole || to === run.length)) found.push({ to, text });
      const atom = run[to];
      if (atom === undefined || !budget.spend(atom.utterance)) return;
      extend(to + 1, text + atom.text);
      if (isAmbiguous) for (const heard of atom.others) extend(to + 1, text + heard);
    };
    extend(from, '');
    if (found.length > 1) found.sort((a, b) => b.text.length - a.text.length);
    for (const { to, text } of found) yield { atoms: run.slice(from, to), text };
  }
}

/** Characters of a run, in the longest reading of each word. */
export const mostCharacters = (run: readonly Atom[]): number =>
  run.reduce(
    (sum, { text, others }) => sum + others.reduce((most, { length }) => Math.max(most, length), text.length),
    0,
  );

export const textOf = (atoms: readonly Atom[]): string => atoms.map(({ text }) => text).join('');
