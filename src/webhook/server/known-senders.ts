/** Senders that have lately signed a delivery rightly. Where room is short, they come before all others. */
export interface KnownSenders {
  /** A delivery of this sender was verified. */
  note(sender: string): void;
  has(sender: string): boolean;
}

const keptMs = 24 * 3_600_000;
/** More are forgotten, the longest unheard of first; a service sends from few addresses. */
const most = 1_000;

export const createKnownSenders = (): KnownSenders => {
  const lastVerified = new Map<string, number>();
  return {
    note(sender) {
      lastVerified.delete(sender);
      lastVerified.set(sender, performance.now());
      const [oldest] = lastVerified.keys();
      if (lastVerified.size > most && oldest !== undefined) lastVerified.delete(oldest);
    },
    has: (sender) => performance.now() - (lastVerified.get(sender) ?? Number.NEGATIVE_INFINITY) < keptMs,
  };
};
