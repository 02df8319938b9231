/** What detectors ask of one utterance, worked out once: each reading of numbers, and each round after a value was replaced, asks again. */
import type { Reading } from './number-words.ts';
import { type Piece, readPieces, type Spoken } from './read-pieces.ts';
import { readTokens, type Token } from './read-tokens.ts';
import { mayAnnounce, type Sketch, sketch } from './sketch.ts';

export interface Heard extends Spoken {
  /** Undefined where a first look cannot tell. */
  readonly sketch: Sketch | undefined;
  /** False where it announces neither a card verification value nor a date of birth. */
  readonly mayAnnounce: boolean;
  piecesIn(reading: Reading): readonly Piece[];
}

/** @param utterance its index in the conversation, by which findings name it. */
export const hear = ({ speaker, text }: Spoken, utterance: number): Heard =>
  new HeardUtterance(speaker, text, utterance);

/** A class, for there are dozens in a call: an object with functions of its own costs as much as the look at its text. */
class HeardUtterance implements Heard {
  readonly speaker: string;
  readonly text: string;
  readonly sketch: Sketch | undefined;
  readonly #utterance: number;
  #mayAnnounce: boolean | undefined;
  #tokens: readonly Token[] | undefined;
  #pieces: Partial<Record<Reading, readonly Piece[]>> | undefined;

  constructor(speaker: string, text: string, utterance: number) {
    this.speaker = speaker;
    this.text = text;
    this.sketch = sketch(text);
    this.#utterance = utterance;
  }

  get mayAnnounce(): boolean {
    this.#mayAnnounce ??= mayAnnounce(this.text);
    return this.#mayAnnounce;
  }

  piecesIn(reading: Reading): readonly Piece[] {
    this.#pieces ??= {};
    this.#tokens ??= readTokens(this.text);
    this.#pieces[reading] ??= readPieces(this.#tokens, this.#utterance, reading);
    return this.#pieces[reading];
  }
}
