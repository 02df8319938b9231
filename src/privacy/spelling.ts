/** Values that are spelled: letters by themselves, by names ("m comme Marcel", "golf"), twice ("double l"). */
import type { Span } from './finding.ts';
import { phrasesOf, wordsOf } from './languages.ts';
import { repeats, zeros } from './number-words.ts';
import type { Piece } from './read-pieces.ts';

export type Said = Exclude<Piece, { kind: 'turn' }>;

export interface Part extends Span {
  readonly kind: 'letters' | 'number' | 'word' | 'mark' | 'sign';
  /** Letters and digits of the value, in lower case. */
  readonly text: string;
  readonly piece: Said;
}

/** A part of several words, and the index behind them. */
export type ReadPhrase = (
  words: readonly { readonly key: string }[],
  at: number,
) => (Pick<Part, 'kind' | 'text'> & { readonly end: number }) | undefined;

const spelledLike = phrasesOf('spelledLike');
const alphabet = wordsOf('alphabet');

const apostrophe = /^['\u2019]$/;

/** "à" is a word, whatever its letters. */
const isSingle = (piece: Said | undefined): boolean =>
  piece?.kind === 'word' && piece.key.length === 1 && piece.text.toLowerCase() === piece.key;
/** A zero that is said as the letter. */
const isO = (piece: Said | undefined): boolean => piece?.kind === 'number' && piece.isO;
const isNamed = (piece: Said | undefined): boolean => piece?.kind === 'word' && alphabet.has(piece.key);

/** Words, numbers and marks without turns, apostrophes, and the letters that these cut off ("c'est", "it's"). */
export const listSaid = (pieces: readonly Piece[]): readonly Said[] => {
  const isApostrophe = (piece: Piece | undefined) => piece?.kind === 'mark' && apostrophe.test(piece.key);
  const isCut = (piece: Said, at: number) =>
    piece.kind === 'word' &&
    elided.test(piece.key) &&
    (isApostrophe(pieces[at + 1]) || (isApostrophe(pieces[at - 1]) && !piece.isSpaced));
  return pieces.filter(
    (piece, at): piece is Said => piece.kind !== 'turn' && !isApostrophe(piece) && !isCut(piece, at),
  );
};
const elided = /^[cdjlmnst]$/;

/** @param isAlphabet whether each name of a letter is one, as in accounts; else only beside other letters, and "deux l" is ll. */
export const spellOut = (said: readonly Said[], isAlphabet: boolean, readPhrase?: ReadPhrase): readonly Part[] => {
  const words = said.map((piece) => ({ key: !isAlphabet && isO(piece) ? 'o' : piece.key }));
  const parts: Part[] = [];
  const isLetter = (piece: Said | undefined): boolean => isSingle(piece) || (!isAlphabet && isO(piece));
  const add = (kind: Part['kind'], text: string, from: number, to: number): number => {
    const [first, last] = [said[from] as Said, said[to - 1] as Said];
    if (first.utterance !== last.utterance) return add(kind, text, from, from + 1);
    parts.push({ kind, text, piece: first, utterance: first.utterance, start: first.start, end: last.end });
    return to;
  };
  /** Index behind "comme Marcel". */
  const behindName = (at: number): number => {
    const like = spelledLike(words, at + 1);
    const name = like && words[like.end]?.key;
    return like && name?.startsWith(words[at]?.key ?? ' ') && name.length > 1 ? like.end + 1 : at + 1;
  };
  const isSpelled = (at: number): boolean => isLetter(said[at]) || isNamed(said[at]);
  for (let at = 0; at < said.length; ) {
    const piece = said[at] as Said;
    const { key = '' } = words[at] ?? {};
    const isTwice =
      isLetter(said[at + 1]) && (repeats.get(key) === 2 || (key === '2' && !isAlphabet && isLetter(said[at + 2])));
    const phrase = readPhrase?.(words, at);
    if (phrase !== undefined) at = add(phrase.kind, phrase.text, at, phrase.end);
    else if (isTwice) at = add('letters', (words[at + 1]?.key ?? '').repeat(2), at, behindName(at + 1));
    else if (isLetter(piece)) at = add('letters', key, at, behindName(at));
    else if (isNamed(piece) && (isAlphabet || isSpelled(at - 1) || isSpelled(at + 1)))
      at = add('letters', key.charAt(0), at, at + 1);
    else if (isAlphabet && zeros.has(key)) at = add('number', '0', at, at + 1);
    else at = add(/^\d+$/.test(key) ? 'number' : piece.kind, key, at, at + 1);
  }
  return parts;
};
