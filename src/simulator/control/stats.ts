/** Counters of events. */
export interface SimulatorStats {
  readonly requests: {
    readonly total: number;
    readonly list: number;
    readonly call: number;
    readonly token: number;
    readonly other: number;
    readonly byStatus: Readonly<Record<string, number>>;
    /** Response body bytes of the call API. */
    readonly bytes: number;
    readonly records: number;
    /** Real milliseconds since the epoch of the first and last request to the call API. */
    readonly firstAt: number | undefined;
    readonly lastAt: number | undefined;
    readonly inFlightMax: number;
  };
  readonly rate: {
    readonly granted: number;
    readonly refused: number;
    /** Refused share of all requests to the call API. */
    readonly refusedShare: number;
    /** Most requests granted to one source in any window. */
    readonly windowMax: number;
  };
  readonly tokens: {
    readonly issued: number;
    readonly refused: number;
    /** Requests to the call API refused with 401, by reason. */
    readonly rejected: Readonly<Record<string, number>>;
  };
  readonly webhooks: {
    readonly queued: number;
    readonly waiting: number;
    readonly inFlight: number;
    readonly delivered: number;
    readonly failed: number;
    readonly dropped: number;
    readonly retried: number;
    readonly attempts: number;
    /** Attempts by answer: a status, `timeout` or `connection`. */
    readonly answers: Readonly<Record<string, number>>;
  };
  readonly faults: Readonly<Record<string, number>>;
  readonly redirects: { readonly followed: number; readonly withAuthorization: number };
  readonly churn: { readonly left: number; readonly joined: number };
  readonly websocket: {
    readonly opened: number;
    readonly open: number;
    readonly refused: Readonly<Record<string, number>>;
    readonly frames: number;
  };
  readonly mrcp: { readonly connections: number; readonly bytes: number };
  readonly calls: { readonly known: number; readonly now: string };
}

type Counts = Record<string, number>;

/** Adds one under a key. */
export const countOne = (counts: Counts, key: string | number): void => {
  counts[key] = (counts[key] ?? 0) + 1;
};

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends Readonly<Record<string, number>> ? Counts : T[K] };
type Counted = {
  [K in 'requests' | 'rate' | 'tokens' | 'webhooks' | 'redirects' | 'churn' | 'websocket' | 'mrcp']: Mutable<
    SimulatorStats[K]
  >;
};

export class Counters implements Counted {
  readonly requests: Counted['requests'] = {
    total: 0,
    list: 0,
    call: 0,
    token: 0,
    other: 0,
    byStatus: {},
    bytes: 0,
    records: 0,
    firstAt: undefined,
    lastAt: undefined,
    inFlightMax: 0,
  };
  readonly rate: Counted['rate'] = { granted: 0, refused: 0, refusedShare: 0, windowMax: 0 };
  readonly tokens: Counted['tokens'] = { issued: 0, refused: 0, rejected: {} };
  readonly webhooks: Counted['webhooks'] = {
    queued: 0,
    waiting: 0,
    inFlight: 0,
    delivered: 0,
    failed: 0,
    dropped: 0,
    retried: 0,
    attempts: 0,
    answers: {},
  };
  readonly faults: Counts = {};
  readonly redirects: Counted['redirects'] = { followed: 0, withAuthorization: 0 };
  readonly churn: Counted['churn'] = { left: 0, joined: 0 };
  readonly websocket: Counted['websocket'] = { opened: 0, open: 0, refused: {}, frames: 0 };
  readonly mrcp: Counted['mrcp'] = { connections: 0, bytes: 0 };

  snapshot(calls: SimulatorStats['calls']): SimulatorStats {
    const { granted, refused } = this.rate;
    const refusedShare = granted + refused === 0 ? 0 : refused / (granted + refused);
    return structuredClone({
      requests: this.requests,
      rate: { ...this.rate, refusedShare },
      tokens: this.tokens,
      webhooks: this.webhooks,
      faults: this.faults,
      redirects: this.redirects,
      churn: this.churn,
      websocket: this.websocket,
      mrcp: this.mrcp,
      calls,
    });
  }
}
