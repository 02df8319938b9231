/** Numbers that follow each other closely enough to be one value that is dictated in parts. */
import type { Finding, Span } from './finding.ts';
import type { Budget, Piece, Spoken } from './read-pieces.ts';

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

  add(finding: Finding): void {
    this.findings.push(finding);
    for (const { utterance, start, end } of finding.spans) {
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

/** A part of a value: digits, or letters where a value may have them. */
export type Atom = Omit<Extract<Piece, { kind: 'number' }>, 'kind'>;

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
    if (piece.kind === 'number' && !(piece.isQuantity && digitsOf(run) < leastDigits)) {
      run.push(piece);
      left = allowed;
    } else if (piece.kind === 'number') end();
    else if (piece.kind === 'turn') {
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

/** Behind so many digits no amount is said, but a word that follows. */
const digitsOf = (run: readonly Atom[]): number => run.reduce((sum, { text }) => sum + text.length, 0);

export const isFiller = (piece: Piece): boolean => piece.kind === 'turn' || (piece.kind !== 'number' && piece.isFiller);

/** Facts of a candidate: its text, and which atoms of the run, `[from, to)`. */
export type Visit = (text: string, run: readonly Atom[], from: number, to: number) => void;

/** Targets of the search in a run. */
export interface Shape {
  readonly least: number;
  readonly most: number;
  /** False where no value begins with these characters: nothing that goes on with them is read. */
  mayBegin(text: string, first: Atom): boolean;
  /** Characters after which the beginning is known. */
  readonly begunBy: number;
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
export const findCandidates = (
  run: readonly Atom[],
  shape: Shape,
  { isAmbiguous = false, isWhole = false }: Manner,
  budget: Budget,
  visit: Visit,
): void => {
  if (mostCharacters(run) < shape.least || (isAmbiguous && run.every(({ others }) => others.length === 0))) return;
  if (isWhole && !isAmbiguous) {
    const text = textOf(run);
    const isOfShape = text.length >= shape.least && text.length <= shape.most;
    const isRead = isOfShape && run.every(({ utterance }) => budget.spend(utterance));
    if (isRead && shape.mayBegin(text, run[0] as Atom)) visit(text, run, 0, run.length);
    return;
  }
  if (isAmbiguous && !run.every(({ utterance, others }) => budget.spend(utterance, others.length))) return;
  const [leastBehind, mostBehind] = [new Uint32Array(run.length + 1), new Uint32Array(run.length + 1)];
  for (let at = run.length - 1; at >= 0; at -= 1) {
    const { text, others } = run[at] as Atom;
    let [least, most] = [text.length, text.length];
    for (const { length } of isAmbiguous ? others : [])
      [least, most] = [Math.min(least, length), Math.max(most, length)];
    leastBehind[at] = (leastBehind[at + 1] as number) + least;
    mostBehind[at] = (mostBehind[at + 1] as number) + most;
  }
  if (isWhole && (leastBehind[0] as number) > shape.most) return;
  const found: { readonly to: number; readonly text: string }[] = [];
  const extend = (from: number, to: number, text: string): void => {
    const isCut = run[to]?.isChained === true;
    if (text.length >= shape.least && !isCut && (!isWhole || to === run.length)) found.push({ to, text });
    const atom = run[to];
    if (atom === undefined || !budget.spend(atom.utterance)) return;
    extendBy(atom.text, from, to, text);
    if (isAmbiguous) for (const heard of atom.others) extendBy(heard, from, to, text);
  };
  const extendBy = (heard: string, from: number, at: number, before: string): void => {
    const length = before.length + heard.length;
    if (length > shape.most || length + (mostBehind[at + 1] as number) < shape.least) return;
    if (isWhole && length + (leastBehind[at + 1] as number) > shape.most) return;
    const text = before + heard;
    if (before.length >= shape.begunBy || shape.mayBegin(text, run[from] as Atom)) extend(from, at + 1, text);
  };
  for (let from = 0; from < (isWhole ? 1 : run.length) && (mostBehind[from] as number) >= shape.least; from += 1) {
    if (!run[from]?.isChained) extend(from, from, '');
    found.sort((a, b) => b.text.length - a.text.length);
    for (const { to, text } of found.splice(0)) visit(text, run, from, to);
  }
};

/** Characters of a run, in the longest reading of each word. */
export const mostCharacters = (run: readonly Atom[]): number =>
  run.reduce(
    (sum, { text, others }) => sum + others.reduce((most, { length }) => Math.max(most, length), text.length),
    0,
  );

export const textOf = (atoms: readonly Atom[]): string => atoms.map(({ text }) => text).join('');
