type Counts = Record<string, number>;

/** Adds one under a key. */
export const countOne = (counts: Counts, key: string | number): void => {
  counts[key] = (counts[key] ?? 0) + 1;
};

export class Counters {
  readonly requests = {
    total: 0,
    list: 0,
    call: 0,
    token: 0,
    other: 0,
    /** Response body bytes of the call API. */
    bytes: 0,
    records: 0,
    /** Real milliseconds since the epoch of the first and last request to the call API. */
    firstAt: undefined as number | undefined,
    lastAt: undefined as number | undefined,
    inFlightMax: 0,
  };
  /** `windowMax`: most requests granted to one source in any window. */
  readonly rate = { granted: 0, refused: 0, windowMax: 0 };
  /** `rejected`: requests to the call API refused with 401, by reason. */
  readonly tokens = { issued: 0, refused: 0, rejected: {} as Counts };
  readonly webhooks = {
    queued: 0,
    waiting: 0,
    inFlight: 0,
    delivered: 0,
    failed: 0,
    dropped: 0,
    retried: 0,
    attempts: 0,
    /** Attempts by answer: a status, `timeout` or `connection`. */
    answers: {} as Counts,
  };
  readonly faults: Counts = {};
  readonly churn = { left: 0, joined: 0 };
  readonly websocket = { opened: 0, open: 0, refused: {} as Counts, frames: 0 };

  /** All counters as they are now; `refusedShare` is that of all requests to the call API. */
  snapshot(calls: { readonly known: number; readonly now: string }) {
    const { granted, refused } = this.rate;
    const refusedShare = granted + refused === 0 ? 0 : refused / (granted + refused);
    return structuredClone({ ...this, rate: { ...this.rate, refusedShare }, calls });
  }
}
