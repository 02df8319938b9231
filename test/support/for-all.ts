import fc from 'fast-check';

/** Checks that something holds of whatever the arbitraries make; a check that returns false fails. */
export const forAll = <T extends [unknown, ...unknown[]]>(
  arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
  settings: fc.Parameters<T>,
  check: (...values: T) => unknown,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(...arbitraries, async (...values: T) => (await check(...values)) !== false),
    settings,
  );
