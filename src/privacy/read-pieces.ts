/** Spoken text as numbers and the words between them, over one utterance or a whole dictation. */

import type { Span } from './finding.ts';
import { phrasesOf, wordsOf } from './languages.ts';
import { readNumber } from './number-words.ts';
import type { Token } from './read-text.ts';

/** One utterance, or one text of another field. */
export interface Spoken {
  /** Side of the call; empty where it is not known. */
  readonly speaker: string;
  readonly text: string;
}

/** Several times the steps of a telephone number in the most ambiguous words. */
const leastSteps = 3_000;
const stepsOfCharacter = 6;

/**
 * Limit of the reading of an utterance: ambiguous words multiply, and the speaker chooses them. The limit counts steps,
 * so that every machine reads alike.
 */
export class Budget {
  /** Steps of all utterances so far. */
  spent = 0;
  /** Utterances that had more in them than their share. */
  readonly over = new Set<number>();
  readonly #left: number[];

  constructor(conversation: readonly { readonly text: string }[]) {
    this.#left = conversation.map(({ text }) => leastSteps + stepsOfCharacter * text.length);
  }

  /** False if the utterance has no steps left; the rest of it stays unread. */
  spend(utterance: number, steps = 1): boolean {
    if ((this.#left[utterance] ?? 0) < 0) return false;
    this.spent += steps;
    const left = (this.#left[utterance] ?? 0) - steps;
    this.#left[utterance] = left;
    if (left < 0) this.over.add(utterance);
    return left >= 0;
  }
}

export type Groups = ReturnType<typeof readGroups>;

/** Digits of "20 6", with a bit for each length at which a group ends. */
const readGroups = (heard: string) => {
  let [text, ends] = ['', 0];
  for (const group of heard.split(' ')) {
    text += group;
    ends |= 1 << text.length;
  }
  return { text, ends };
};

/** A number, a word or a sign. */
interface Heard extends Span {
  /** Digits, or a word in lower case without accents. */
  readonly key: string;
  readonly text: string;
  /** Whether it may stand between the parts of a number without ending it. */
  readonly isFiller: boolean;
}

/** Digits, with the facts that tell whether they may be a part of a value. */
export interface NumberPiece extends Heard {
  readonly kind: 'number';
  /** Readings of the same words, the first as they are most likely meant. */
  readonly readings: readonly Groups[];
  /** A zero that may be the letter. */
  readonly isO: boolean;
  readonly isInternational: boolean;
  /** An amount, a measure or a count. */
  readonly isQuantity: boolean;
  /** Digits stand before it, with nothing but a sign between. */
  readonly isChained: boolean;
}

interface WordPiece extends Heard {
  readonly kind: 'word' | 'mark';
  readonly isSpaced: boolean;
  /** The speaker takes back the part before it. */
  readonly isCorrection: boolean;
}

/** `turn`: the speaker was interrupted, or another utterance begins. */
export type Piece = NumberPiece | WordPiece | { readonly kind: 'turn' };

/** Said between the parts of a number without ending it. */
export const fillers = wordsOf('fillers');
const pauses = phrasesOf('hesitations', 'corrections');
const quantities = phrasesOf('quantities');
const clock = wordsOf('clock');
const currency = /^[$€£%]$/;
const innerMarks = new Set([...`.,-/();'’"·+:_|*`]);

/** A part of a token with letters: its digits are no number of their own, and its letters are no number word. */
const isGlued = (tokens: readonly Token[], at: number): boolean => {
  const before = tokens[at - 1];
  if (before === undefined || tokens[at]?.isSpaced !== false) return false;
  if (tokens[at].kind === 'word') return before.kind === 'digits';
  return (before.text === '_' && tokens[at - 2]?.kind === 'word') || (before.kind === 'word' && before.text.length > 4);
};

/** "2 A" is a number of two characters: a department, also at the end of digits that are written together. */
const isDepartment = (digits: string, token: Token | undefined): boolean =>
  digits.endsWith('2') && (digits === '2' || !token?.isSpaced ? /^[AB]$/i : /^[AB]$/).test(token?.text ?? '');

/** The pieces of one utterance. @param isSplit whether words without a hyphen between them are separate numbers. */
export const readPieces = (tokens: readonly Token[], utterance: number, isSplit = false) => {
  const pieces: (NumberPiece | WordPiece)[] = [];
  let isAfterNumber = false;
  let [pausesUntil, corrects] = [0, false];
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at] as Token;
    const { start, end, key, isSpaced } = token;
    const number = isGlued(tokens, at) ? undefined : readNumber(tokens, at, isSplit, isAfterNumber);
    if (number === undefined) {
      const pause = token.kind === 'word' ? pauses(tokens, at) : undefined;
      if (pause !== undefined) [pausesUntil, corrects] = [pause.end, pause.meaning === 'corrections'];
      const isPause = at < pausesUntil;
      const isFiller = token.kind === 'word' ? isPause || fillers.has(key) : innerMarks.has(key);
      const kind = token.kind === 'word' ? 'word' : 'mark';
      const isCorrection = isPause && corrects;
      pieces.push({ kind, utterance, start, end, key, text: token.text, isSpaced, isFiller, isCorrection });
      isAfterNumber = token.kind !== 'word' && isAfterNumber;
      at += 1;
      continue;
    }
    const before = tokens[at - 1];
    let { next, digits: text } = number;
    if (isDepartment(text, tokens[next])) text += tokens[next++]?.text.toUpperCase();
    const isInternational = before?.text === '+' || before?.key === 'plus';
    const isQuantity =
      currency.test(before?.text ?? '') ||
      clock.has(before?.key ?? '') ||
      currency.test(tokens[next]?.text ?? '') ||
      quantities(tokens, next) !== undefined;
    const isTight = !isSpaced && before?.isSpaced === false && tokens[at - 2]?.kind === 'digits';
    pieces.push({
      kind: 'number',
      utterance,
      start: isInternational ? before.start : start,
      end: (tokens[next - 1] as Token).end,
      key: text,
      text,
      isFiller: false,
      readings: [text, ...(number.others ?? [])].map(readGroups),
      isO: number.isO === true,
      isInternational,
      isQuantity,
      isChained: isTight && /^[.-]$/.test(before.text),
    });
    at = next;
    isAfterNumber = true;
  }
  return pieces;
};

/** Utterances between two of one speaker, at most: beyond it nobody goes on with a number. */
export const longestInterruption = 3;

/** Utterances in the order in which they are read: those of each speaker, at last those of several together. */
export const listOrders = (spoken: readonly Spoken[]): readonly (readonly number[])[] => {
  const all = [...spoken.keys()];
  const speakers = new Set(spoken.map(({ speaker }) => speaker));
  const own = Array.from(speakers, (speaker) => all.filter((at) => spoken[at]?.speaker === speaker));
  return [...own, speakers.size > 1 ? all : []];
};

/** Pieces in an order: one utterance may begin a number and another one end it. */
export const joinTurns = (order: readonly number[], pieces: readonly (readonly Piece[] | undefined)[]) => {
  const streams: Piece[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const index of order) {
    const own = pieces[index];
    if (own !== undefined && index - last <= longestInterruption) streams.at(-1)?.push({ kind: 'turn' });
    else if (own !== undefined) streams.push([]);
    for (const piece of own ?? []) streams.at(-1)?.push(piece);
    last = own === undefined ? Number.NEGATIVE_INFINITY : index;
  }
  return streams;
};
