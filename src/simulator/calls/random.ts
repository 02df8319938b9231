/** Seeded randomness: hashes for single values that are asked in any order, a stream for the inside of one call. */

/** Mixes up to three integers into an unsigned 32-bit one. */
export const hash32 = (a: number, b: number, c = 0): number => {
  let h = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b);
  h = Math.imul((h ^ (h >>> 15)) + b, 0xc2b2ae35);
  h = Math.imul((h ^ (h >>> 13)) + c, 0x27d4eb2f);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
};

/** A number in [0, 1) that depends on nothing but its arguments. */
export const fraction = (seed: number, index: number, salt: number): number =>
  hash32(seed, index, salt) / 0x1_0000_0000;

/** A stream of numbers in [0, 1). */
export const randomStream = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
};

export const pick = <T>(items: readonly T[], random: number): T => items[Math.floor(random * items.length)] as T;
