/** Spoken text as numbers and the words between them, over one utterance or a whole dictation. */

import type { Span } from './finding.ts';
import { phrasesOf, wordsOf } from './languages.ts';
import { type Reading, readNumber, readOtherwise } from './number-words.ts';
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

interface Between {
  readonly key: string;
  readonly isSpaced: boolean;
  /** Whether the word may stand between the parts of a number without ending it. */
  readonly isFiller: boolean;
}

export type Piece =
  | (Span & {
      readonly kind: 'number';
      /** Digits of the piece. */
      readonly text: string;
      /** Other readings of the same words. */
      readonly others: readonly string[];
      readonly isInternational: boolean;
      /** An amount, a measure or a count. */
      readonly isQuantity: boolean;
      /** Digits stand before it, with nothing but a sign between. */
      readonly isChained: boolean;
    })
  | (Span & Between & { readonly kind: 'word'; readonly text: string })
  | (Span & Between & { readonly kind: 'mark' })
  /** The speaker was interrupted, or another utterance begins. */
  | { readonly kind: 'turn' };

/** Said between the parts of a number without ending it. */
export const fillers = wordsOf(({ fillers: words }) => words);
const hesitations = phrasesOf(({ hesitations: phrases }) => phrases);
const quantities = phrasesOf((language) => language.quantities);
const isDecimal = /^[.,]$/;
const clock = wordsOf((language) => language.clock);
const currency = /^[$€£%]$/;
const innerMarks = new Set([...`.,-/();'’"·+:_|*`]);

/** A part of a token that begins with letters: its digits are no number of their own. */
const isGlued = (tokens: readonly Token[], at: number): boolean => {
  const before = tokens[at - 1];
  const token = tokens[at];
  if (before === undefined || token === undefined || token.isSpaced) return false;
  return (before.text === '_' && tokens[at - 2]?.kind === 'word') || (before.kind === 'word' && before.text.length > 4);
};

/** Also "plus" in words. */
const isPlus = (token: Token | undefined): boolean => token?.text === '+' || token?.key === 'plus';

/** "1,250,000" is one number; nobody dictates with commas and without blanks. */
const thousandsBehind = (tokens: readonly Token[], at: number): number => {
  const isGroup = (from: number): boolean =>
    tokens[from]?.text === ',' && /^\d{3}$/.test(tokens[from + 1]?.text ?? '') && tokens[from + 1]?.isSpaced === false;
  let next = at;
  while (isGroup(next)) next += 2;
  return next;
};

const isChained = (tokens: readonly Token[], at: number): boolean =>
  tokens[at]?.isSpaced === false &&
  tokens[at - 1]?.isSpaced === false &&
  /^[.-]$/.test(tokens[at - 1]?.text ?? '') &&
  tokens[at - 2]?.kind === 'digits';

/** The pieces of one utterance. */
export const readPieces = (
  tokens: readonly Token[],
  { utterance, reading, budget }: { readonly utterance: number; readonly reading: Reading; readonly budget: Budget },
): Piece[] => {
  const pieces: Piece[] = [];
  let at = 0;
  let isAfterNumber = false;
  let hesitatesUntil = 0;
  while (at < tokens.length) {
    const token = tokens[at] as Token;
    const number =
      token.kind === 'digits' && isGlued(tokens, at) ? undefined : readNumber(tokens, at, reading, isAfterNumber);
    if (number !== undefined) {
      const next = token.kind === 'digits' ? thousandsBehind(tokens, number.next) : number.next;
      const isInternational = isPlus(tokens[at - 1]);
      const others = readOtherwise(tokens, { at, next: number.next, reading }, () => budget.spend(utterance));
      const text =
        next > number.next
          ? tokens
              .slice(at, next)
              .map((own) => (own.kind === 'digits' ? own.text : ''))
              .join('')
          : number.digits;
      const start = (isInternational ? (tokens[at - 1] as Token) : token).start;
      const end = (tokens[next - 1] as Token).end;
      const [before, behind] = [tokens[at - 1]?.text ?? '', tokens[next]?.text ?? ''];
      const isQuantity =
        next > number.next ||
        currency.test(before) ||
        clock.has(tokens[at - 1]?.key ?? '') ||
        currency.test(behind) ||
        quantities(tokens, next) !== undefined;
      // "576.90 pounds" is one amount.
      const whole = isQuantity && isDecimal.test(before) && !token.isSpaced ? pieces.at(-2) : undefined;
      if (whole?.kind === 'number') pieces[pieces.length - 2] = { ...whole, isQuantity };
      pieces.push({
        kind: 'number',
        utterance,
        start,
        end,
        text,
        others,
        isInternational,
        isQuantity,
        isChained: isChained(tokens, at),
      });
      at = next;
      isAfterNumber = true;
      continue;
    }
    const { start, end, key, isSpaced } = token;
    if (token.kind === 'word') {
      hesitatesUntil = Math.max(hesitatesUntil, at + (hesitations(tokens, at)?.length ?? 0));
      const isFiller = at < hesitatesUntil || fillers.has(key);
      pieces.push({ kind: 'word', utterance, start, end, key, text: token.text, isSpaced, isFiller });
    } else pieces.push({ kind: 'mark', utterance, start, end, key, isSpaced, isFiller: innerMarks.has(key) });
    isAfterNumber = token.kind !== 'word' && isAfterNumber;
    at += 1;
  }
  return pieces;
};

/** Utterances between two of one speaker, at most: beyond it nobody goes on with a number. */
export const longestInterruption = 3;

/**
 * The pieces of each speaker alone, and of all speakers in order: one speaker may begin a number and another one end
 * it.
 */
export const joinTurns = (spoken: readonly Spoken[], pieces: readonly (readonly Piece[])[]): Piece[][] => {
  const streams: readonly [own: Piece[][], all: Piece[][]] = [[], []];
  const openStreams = new Map<string | undefined, { last: number; pieces: Piece[] }>();
  const isDialogue = spoken.some(({ speaker }) => speaker !== spoken[0]?.speaker);
  for (const [index, { speaker }] of spoken.entries()) {
    for (const key of isDialogue ? [speaker, undefined] : [speaker]) {
      let stream = openStreams.get(key);
      if (stream === undefined || index - stream.last > longestInterruption) {
        stream = { last: index, pieces: [] };
        openStreams.set(key, stream);
        streams[key === undefined ? 1 : 0].push(stream.pieces);
      }
      if (stream.pieces.length > 0) stream.pieces.push({ kind: 'turn' });
      for (const piece of pieces[index] ?? []) stream.pieces.push(piece);
      stream.last = index;
    }
  }
  return streams.flat().filter((stream) => stream.length > 0);
};
