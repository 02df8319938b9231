/** Ranges of one time axis, and the calls in its order. */
export interface AxisRange {
  /** Milliseconds, inclusive. */
  readonly from: number;
  readonly to: number;
  readonly toInclusive: boolean;
}

export const everything: AxisRange = {
  from: Number.NEGATIVE_INFINITY,
  to: Number.POSITIVE_INFINITY,
  toInclusive: true,
};

/** Smallest i in [0, length) for which `reached(i)`; length when none. */
const lowerBound = (length: number, reached: (i: number) => boolean): number => {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};

/**
 * Calls in the order of an axis, ties by index.
 * @param order indices of calls, in that order. @param keyOf present key of a call in it
 */
export const createAxisIndex = (order: number[], keyOf: (index: number) => number) => {
  const at = (i: number): number => order[i] as number;
  const positionOf = (index: number, key: number): number =>
    lowerBound(order.length, (i) => {
      const other = keyOf(at(i));
      return other > key || (other === key && at(i) >= index);
    });
  return {
    /** Puts a call at a key before `keyOf` knows it; `previous` is where it was, undefined for a new call. */
    place: (index: number, key: number, previous: number | undefined): void => {
      if (previous !== undefined) order.splice(positionOf(index, previous), 1);
      order.splice(positionOf(index, key), 0, index);
    },
    /** Visits the calls of a range in order until `visit` returns false. */
    scan: ({ from, to, toInclusive }: AxisRange, visit: (index: number, key: number) => boolean): void => {
      for (let i = lowerBound(order.length, (n) => keyOf(at(n)) >= from); i < order.length; i++) {
        const key = keyOf(at(i));
        if ((toInclusive ? key > to : key >= to) || !visit(at(i), key)) return;
      }
    },
  };
};
