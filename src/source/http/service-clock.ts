/** Local milliseconds that never jump, on the scale of Date.now(). */
export const steadyNow = (): number => performance.timeOrigin + performance.now();

/** The earliest that it can be by the service's clock, in microseconds; undefined while the service told no time. */
export const serviceNow = (clock: ServiceClock): number | undefined => {
  const offset = clock.offset();
  return offset === undefined ? undefined : Math.floor((steadyNow() + offset.low) * 1000);
};

export type ServiceClock = ReturnType<typeof createServiceClock>;

/** Clocks drift apart: the known offset widens by this share of the time since it was last narrowed. */
const drift = 100e-6;

/** @param allowedSkewMs how far ahead of arrival an observation may lie. */
export const createServiceClock = (allowedSkewMs: number) => {
  let known: { low: number; high: number; at: number } | undefined;

  const narrow = (low: number, high: number, at: number): { low: number; high: number } => {
    const widening = known === undefined ? 0 : (at - known.at) * drift;
    const merged =
      known === undefined
        ? { low, high }
        : { low: Math.max(low, known.low - widening), high: Math.min(high, known.high + widening) };
    // No overlap: a clock was set, and earlier measurements are void.
    known = merged.low <= merged.high ? { ...merged, at } : { low, high, at };
    return known;
  };

  return {
    /**
     * Time of the service when the request was sent, in microseconds. A webhook made while the answer travels
     * therefore counts as newer. Without a usable Date header: the time of arrival.
     */
    observe: (answer: {
      /** Local milliseconds (`steadyNow`) at which the request was sent and the response head arrived. */
      readonly sentAt: number;
      readonly headAt: number;
      readonly date: string | undefined;
    }) => {
      const { sentAt, headAt, date } = answer;
      const second = date === undefined ? Number.NaN : Date.parse(date);
      if (Number.isNaN(second)) return Math.round(headAt * 1000);
      const { low } = narrow(second - headAt, second + 1000 - sentAt, headAt);
      const sent = Math.min(sentAt + low, second + 999.999, headAt + allowedSkewMs);
      return Math.round(sent * 1000);
    },
    /** Milliseconds by which the service's clock is ahead of ours: bounds, or undefined before the first Date. */
    offset: () => (known === undefined ? undefined : { low: known.low, high: known.high }),
  };
};
