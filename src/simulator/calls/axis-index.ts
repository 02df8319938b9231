/**
 * Calls in the order of one axis: planned ones in a typed array, inserted or moved ones in a sorted list. Ties are
 * ordered by index.
 */
type Moved = { readonly key: number; readonly index: number };

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
export const lowerBound = (length: number, reached: (i: number) => boolean): number => {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reached(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** @param order undefined if it is that of the index */
export const createAxisIndex = (keys: Float64Array, order: Uint32Array | undefined) => {
  const away = new Uint8Array(keys.length);
  const moved: Moved[] = [];
  const positionOf = (index: number, key: number): number =>
    lowerBound(moved.length, (i) => {
      const at = moved[i] as Moved;
      return at.key > key || (at.key === key && at.index >= index);
    });
  const at = (i: number): number => (order === undefined ? i : (order[i] as number));
  return {
    /** Puts a call at a key; `previous` is where it was, undefined for a new call. */
    place: (index: number, key: number, previous: number | undefined): void => {
      if (index < away.length && away[index] === 0) away[index] = 1;
      else if (previous !== undefined) moved.splice(positionOf(index, previous), 1);
      moved.splice(positionOf(index, key), 0, { key, index });
    },
    /** Visits the calls of a range in order until `visit` returns false. */
    scan: ({ from, to, toInclusive }: AxisRange, visit: (index: number, key: number) => boolean): void => {
      const beyond = (key: number): boolean => (toInclusive ? key > to : key >= to);
      let b = lowerBound(keys.length, (i) => (keys[at(i)] as number) >= from);
      let m = lowerBound(moved.length, (i) => (moved[i] as Moved).key >= from);
      for (;;) {
        while (b < keys.length && away[at(b)] === 1) b++;
        const base = b < keys.length ? at(b) : -1;
        const baseKey = base < 0 ? Number.POSITIVE_INFINITY : (keys[base] as number);
        const other = moved[m];
        const takeOther =
          other !== undefined && (base < 0 || other.key < baseKey || (other.key === baseKey && other.index < base));
        const key = takeOther ? other.key : baseKey;
        if ((!takeOther && base < 0) || beyond(key)) return;
        if (!visit(takeOther ? other.index : base, key)) return;
        if (takeOther) m++;
        else b++;
      }
    },
  };
};
