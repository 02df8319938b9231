/**
 * How much reading an utterance may cost: ambiguous words multiply, and whoever speaks chooses them. Counted in steps, so that every
 * machine reads alike.
 */

/** What a telephone number dictated in the most ambiguous words takes, several times. */
const leastSteps = 3_000;
const stepsOfCharacter = 6;

export class Budget {
  /** Steps of all utterances so far. */
  spent = 0;
  /** Utterances that had more in them than their share. */
  readonly over = new Set<number>();
  readonly #left: number[];

  constructor(conversation: readonly { readonly text: string }[]) {
    this.#left = conversation.map(({ text }) => leastSteps + stepsOfCharacter * text.length);
  }

  /** False where the utterance has no step left: what is said in it is not read further. */
  spend(utterance: number, steps = 1): boolean {
    if (this.over.has(utterance)) return false;
    this.spent += steps;
    const left = (this.#left[utterance] ?? 0) - steps;
    this.#left[utterance] = left;
    if (left < 0) this.over.add(utterance);
    return left >= 0;
  }
}
