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
export const fraction = (seed: number, index: number, salt: number) => hash32(seed, index, salt) / 0x1_0000_0000;

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

const factors = [0x9e3779b1, 0x85ebca6b] as const;
const inverse = (odd: number): number => {
  let x = odd;
  for (let i = 0; i < 5; i++) x = Math.imul(x, 2 - Math.imul(odd, x));
  return x;
};
const inverses = factors.map(inverse) as [number, number];
const fold = (x: number): number => x ^ (x >>> 16);

const scramble = (index: number, key: number): number =>
  fold(Math.imul(fold(Math.imul(index ^ key, factors[0])), factors[1])) >>> 0;
const unscramble = (value: number, key: number): number =>
  (Math.imul(fold(Math.imul(fold(value), inverses[1])), inverses[0]) ^ key) >>> 0;

const hex = (value: number, digits: number): string => (value >>> 0).toString(16).padStart(8, '0').slice(0, digits);

/** The `unique_id` of the call at an index: a UUID-shaped text. */
export const callIdOf = (seed: number, index: number): string => {
  const head = scramble(index, hash32(seed, 0x1d));
  const tail = hash32(seed, head, 1);
  return `${hex(head, 8)}-${hex(tail, 4)}-4${hex(hash32(seed, head, 2), 3)}-a${hex(hash32(seed, head, 3), 3)}-${hex(hash32(seed, head, 4), 8)}${hex(tail << 16, 4)}`;
};

/** The index behind a `unique_id`, or undefined when no call of this seed could have it. */
export const callIndexOf = (seed: number, callId: string): number | undefined => {
  if (!/^[0-9a-f]{8}-/.test(callId)) return undefined;
  const index = unscramble(Number.parseInt(callId.slice(0, 8), 16), hash32(seed, 0x1d));
  return callIdOf(seed, index) === callId ? index : undefined;
};
