/** Sets of half-open ranges `[from, to)`: pure arithmetic on numbers. */
export type Interval = { readonly from: number; readonly to: number };

/** The same set as few, sorted ranges that neither overlap nor touch. */
export const unite = (intervals: readonly Interval[]): Interval[] => {
  const united: { from: number; to: number }[] = [];
  for (const { from, to } of [...intervals].sort((a, b) => a.from - b.from)) {
    if (from >= to) continue;
    const last = united.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else united.push({ from, to });
  }
  return united;
};

/** The parts of `whole` outside `others`. */
export const subtract = (whole: readonly Interval[], others: readonly Interval[]): Interval[] => {
  let left = unite(whole);
  for (const other of unite(others))
    left = left.flatMap(({ from, to }) =>
      [
        { from, to: Math.min(to, other.from) },
        { from: Math.max(from, other.to), to },
      ].filter((part) => part.from < part.to),
    );
  return left;
};

/** The parts that are in both sets. */
export const intersect = (a: readonly Interval[], b: readonly Interval[]): Interval[] => subtract(a, subtract(a, b));

/** Length of the union of the ranges. */
export const lengthOf = (intervals: readonly Interval[]): number =>
  unite(intervals).reduce((sum, { from, to }) => sum + to - from, 0);
