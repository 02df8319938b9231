/** Limits requests in a rolling window, such as 40 in any 10 seconds. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { transient } from '../../lib/errors.ts';
import { type Pause, spacingOf, wait } from '../../lib/timing.ts';

/** Live work (sync, re-reads of single calls) has a share of the limit that nothing else may use. */
const liveWork = new AsyncLocalStorage<true>();

/** Requests made within `work` are live. Carried with the work: all layers of the source are between it and the limiter. */
export const asLive = <T>(work: () => Promise<T>): Promise<T> => liveWork.run(true, work);

export type RequestLimiter = ReturnType<typeof createRequestLimiter>;

/** `live` = part of `requests` that live work keeps while there is some. */
type RequestLimitRules = Readonly<Record<'requests' | 'perMs' | 'live', number>>;

/** Live work is taken for ended when it has asked for nothing for so long; until it asks again, others use its share. */
export const liveIdleMs = 5 * 60_000;

/**
 * The service counts arrivals, and callsync counts departures. Requests travel for unequal times, and a busy process
 * sends late, so callsync uses a longer window. At 3% and 2 busy cores, 1 to 2 of 100 requests got a 429.
 */
const marginMs = (rules: RequestLimitRules): number => Math.max(5, rules.perMs * 0.05);

/** Length in milliseconds of the rolling window, with its margin. */
export const limitSpanMs = (rules: RequestLimitRules): number => rules.perMs + marginMs(rules);

/** Where slots are handed out; in this process or in the store. */
type SlotSource = ReturnType<typeof createLocalSlots>;

/**
 * Waits for granted slots. A slot that a busy process used late moves to the time of its use, so that the service
 * never sees too many requests. A slot within a later block stays unused.
 */
export const createRequestLimiter = (slots: SlotSource, rules: RequestLimitRules, pause: Pause = wait) => {
  const blocked = transient('SERVICE_RATE_LIMIT', 'The service allows no request yet.');
  const tolerance = marginMs(rules) / 4;
  return {
    /** Resolves when one request may be sent, with the time of its slot on the clock of the slots. */
    acquire: async (signal?: AbortSignal): Promise<number> => {
      for (;;) {
        const asked = performance.now();
        const { waitMs, at } = await slots.grant(liveWork.getStore() === true);
        if (waitMs > 0) await pause(waitMs, signal, blocked);
        else signal?.throwIfAborted();
        if (waitMs > 0 && (await slots.isBlocked(at))) continue;
        const late = performance.now() - (asked + waitMs);
        // Not awaited, to save time. The worst result of a failure is a 429.
        if (late > tolerance) slots.defer(at, late).catch(() => undefined);
        return at;
      }
    },
    /**
     * The service said that the request in the slot at `at` was too many: no request for `ms` from now. Later ones are
     * spaced wider. Requests that were sent before the last widening say nothing of it.
     */
    penalize: (ms: number, at?: number) => slots.block(ms, at),
  };
};

/** Slots of a process without a store, which does no live work: one rolling window. */
export const createLocalSlots = (rules: RequestLimitRules) => {
  const span = limitSpanMs(rules);
  const spacing = spacingOf(span / rules.requests);
  const now = (): number => performance.now();
  /** As many as the window may hold, oldest first. */
  const granted: number[] = [];
  let blockedUntil = 0;
  let widened = { to: 0, at: 0 };
  const distance = (): number => Math.max(0, widened.to - (now() - widened.at) / spacing.shrinkMs);
  return {
    /** The slot: milliseconds from now until it, and its time on the clock of the source of slots. */
    grant: async (_isLive: boolean) => {
      const present = now();
      const free = granted.length < rules.requests ? 0 : (granted[0] as number) + span;
      const at = Math.max(present, blockedUntil, free, (granted.at(-1) ?? 0) + distance());
      if (granted.push(at) > rules.requests) granted.shift();
      return { waitMs: at - present, at };
    },
    /** No slot for `ms` from now. Later slots are spaced wider, unless they were since the slot at `after`. */
    block: async (ms: number, after = now()) => {
      blockedUntil = Math.max(blockedUntil, now() + ms);
      if (after < widened.at) return;
      widened = { to: Math.min(spacing.most, Math.max(spacing.first, distance() * spacing.wider)), at: now() };
    },
    /** Whether a block that came after the grant covers the slot at `at`, in whichever process it was announced. */
    isBlocked: async (at: number) => at < blockedUntil,
    /** The slot at `at` was used `ms` later, so later slots move with it. */
    defer: async (at: number, ms: number) => {
      const index = granted.lastIndexOf(at);
      if (index >= 0) granted[index] = at + ms;
    },
  };
};

/** The rolling window of one process. */
export const createLocalRequestLimiter = (rules: RequestLimitRules): RequestLimiter =>
  createRequestLimiter(createLocalSlots(rules), rules);
