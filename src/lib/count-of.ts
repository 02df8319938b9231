/** Counted things in sentences for people. */

/** `1 call`, `2 calls`, `0 deliveries`. */
export const countOf = (count: number, noun: string): string => `${count} ${nounOf(count, noun)}`;

/** The noun alone, where the number is written in another way. */
export const nounOf = (count: number, noun: string): string =>
  count === 1 ? noun : `${noun}s`.replace(/([^aeiou])ys$/, '$1ies');
