/**
 * Senders whose deliveries are refused again and again. Their answers come later, and bodies of those that had much read in
 * vain are left unread for a while, so that who signs rightly has the processor and the queue of new connections to itself.
 * Known senders are exempt.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Offenders {
  /** Whether bodies of the sender are left unread for now. */
  isHeldBack(sender: string): boolean;
  /** A delivery was not taken after `bytes` of its body were read; resolves when it may be answered. */
  note(sender: string, bytes: number): Promise<void>;
}

const MiB = 1024 * 1024;
/** Bytes that a sender may have read in vain at once, and how much more each second. */
const reading = { most: 64 * MiB, perSecond: 4 * MiB };
/** Refusals that are answered at once. */
const refusals = { most: 64, perSecond: 4 };
/** A client that waits for its answers sends so much less. */
const answerDelayMs = 1_000;

export const createOffenders = (options: {
  readonly isKnown: (sender: string) => boolean;
  /** Milliseconds. */
  readonly clock?: () => number;
  readonly delayMs?: number;
}): Offenders => {
  const { isKnown, clock = () => performance.now(), delayMs = answerDelayMs } = options;
  const bytesLeft = createAllowances(reading, clock);
  const refusalsLeft = createAllowances(refusals, clock);
  return {
    isHeldBack: (sender) => !isKnown(sender) && bytesLeft.of(sender) < 0,
    async note(sender, bytes) {
      if (isKnown(sender)) return;
      bytesLeft.take(sender, bytes);
      refusalsLeft.take(sender, 1);
      if (refusalsLeft.of(sender) < 0) await sleep(delayMs);
    },
  };
};

interface Allowance {
  readonly left: number;
  readonly at: number;
}

/** More senders are forgotten, the longest unheard of first. */
const mostSenders = 10_000;
/** What is owed is bounded: so long after it last took something, a sender may take again. */
const longestDebtSeconds = 60;

const createAllowances = ({ most, perSecond }: typeof reading, clock: () => number) => {
  const allowances = new Map<string, Allowance>();
  const of = (sender: string): number => {
    const known = allowances.get(sender);
    if (known === undefined) return most;
    return Math.min(most, known.left + ((clock() - known.at) / 1_000) * perSecond);
  };
  return {
    of,
    take(sender: string, amount: number): void {
      const left = Math.max(of(sender) - amount, -perSecond * longestDebtSeconds);
      allowances.delete(sender);
      allowances.set(sender, { left, at: clock() });
      const [oldest] = allowances.keys();
      if (allowances.size > mostSenders && oldest !== undefined) allowances.delete(oldest);
    },
  };
};
