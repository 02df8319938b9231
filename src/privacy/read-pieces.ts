/** Spoken text as numbers and the words between them, over one utterance or a whole dictation. */

import type { Span } from './finding.ts';
import { type Reading, readOtherwise, readSpokenNumber } from './number-words.ts';
import { setOf, type Token } from './read-text.ts';

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
    })
  | (Span & Between & { readonly kind: 'word'; readonly text: string })
  | (Span & Between & { readonly kind: 'mark' })
  /** The speaker was interrupted, or another utterance begins. */
  | { readonly kind: 'turn' };

/** Said between the parts of a number without ending it. */
export const fillers = setOf(
  `et puis apres ensuite alors enfin euh heu hum hm mm mmm um uh er and then so well voila oui ok okay d accord accorde yes
   yeah yep right tiret point slash espace blanc dash dot space comme c est le les la er ere st nd rd th donc plus encore
   sure note got it finalement pardon sorry excusez moi attendez alors bon ben bah hein hop non no uhm`,
);
/** Spoken signs of an address, and the spoken words for the dot. */
export const addressSigns = new Set(['arobase', 'arrobase', 'arobas', 'arobaz', 'at']);
export const addressDots = new Set(['point', 'dot']);
const innerMarks = new Set([...`.,-/();'’"·+:_|*`]);

/** A part of a token that begins with letters: its digits are no number of their own. */
const isGlued = (tokens: readonly Token[], at: number): boolean => {
  const before = tokens[at - 1];
  const token = tokens[at];
  if (before === undefined || token === undefined || token.isSpaced) return false;
  return (before.text === '_' && tokens[at - 2]?.kind === 'word') || (before.kind === 'word' && before.text.length > 4);
};

const isPlus = (token: Token | undefined): boolean => token?.text === '+' || token?.key === 'plus';

/** The pieces of one utterance. */
export const readPieces = (
  tokens: readonly Token[],
  { utterance, reading, budget }: { readonly utterance: number; readonly reading: Reading; readonly budget: Budget },
): Piece[] => {
  const pieces: Piece[] = [];
  let at = 0;
  let isAfterNumber = false;
  while (at < tokens.length) {
    const token = tokens[at] as Token;
    const number =
      token.kind === 'digits' && !isGlued(tokens, at)
        ? { digits: token.text, next: at + 1 }
        : readSpokenNumber(tokens, at, reading, isAfterNumber);
    if (number !== undefined) {
      const isInternational = isPlus(tokens[at - 1]);
      const others =
        number.next - at > 1 && reading === 'whole'
          ? readOtherwise(tokens, at, number.next, () => budget.spend(utterance))
          : [];
      const start = (isInternational ? (tokens[at - 1] as Token) : token).start;
      const end = (tokens[number.next - 1] as Token).end;
      pieces.push({ kind: 'number', utterance, start, end, text: number.digits, others, isInternational });
      at = number.next;
      isAfterNumber = true;
      continue;
    }
    const { start, end, key, isSpaced } = token;
    if (token.kind === 'word') {
      const isFiller = fillers.has(key);
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
