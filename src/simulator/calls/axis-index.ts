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

export class AxisIndex {
  private readonly keys: Float64Array;
  /** Undefined if the order is that of the index. */
  private readonly order: Uint32Array | undefined;
  private readonly away: Uint8Array;
  private readonly moved: Moved[] = [];

  constructor(keys: Float64Array, order: Uint32Array | undefined) {
    this.keys = keys;
    this.order = order;
    this.away = new Uint8Array(keys.length);
  }

  /** Puts a call at a key; `previous` is where it was, undefined for a new call. */
  place(index: number, key: number, previous: number | undefined): void {
    if (index < this.away.length && this.away[index] === 0) this.away[index] = 1;
    else if (previous !== undefined) this.moved.splice(this.positionOf(index, previous), 1);
    this.moved.splice(this.positionOf(index, key), 0, { key, index });
  }

  private positionOf(index: number, key: number): number {
    return lowerBound(this.moved.length, (i) => {
      const at = this.moved[i] as Moved;
      return at.key > key || (at.key === key && at.index >= index);
    });
  }

  /** Visits the calls of a range in order until `visit` returns false. */
  scan(range: AxisRange, visit: (index: number, key: number) => boolean): void {
    const { keys, order, away, moved } = this;
    const { to, toInclusive } = range;
    const at = (i: number): number => (order === undefined ? i : (order[i] as number));
    const beyond = (key: number): boolean => (toInclusive ? key > to : key >= to);
    let b = lowerBound(keys.length, (i) => (keys[at(i)] as number) >= range.from);
    let m = lowerBound(moved.length, (i) => (moved[i] as Moved).key >= range.from);
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
  }
}
