/** A budget of requests in a rolling window, such as 40 in any 10 seconds. */
import { wait } from './wait.ts';

export interface RequestBudget {
  /** Resolves when one request may be sent. */
  acquire(signal?: AbortSignal): Promise<void>;
  /** No request for `ms` from now: the service said that it was too many. */
  penalize(ms: number): Promise<void>;
}

export interface BudgetRules {
  readonly requests: number;
  readonly perMs: number;
}

/**
 * The service counts arrivals, we count departures: requests travel for unequal times, and a busy process sends late, so
 * the window is taken a little longer than it is. At 3% and 2 busy cores, 1 to 2 of 100 requests were answered 429.
 */
export const budgetMarginMs = (rules: BudgetRules): number => Math.max(5, rules.perMs * 0.05);

export interface Grant {
  /** Milliseconds until the granted slot, from now. */
  readonly waitMs: number;
  /** The slot itself, in milliseconds on the clock of whoever hands slots out. */
  readonly at: number;
}

/** Where slots are handed out; in this process or in the store. */
export interface SlotSource {
  grant(): Promise<Grant>;
  /** No slot for `ms` from now. */
  block(ms: number): Promise<void>;
  /** The slot at `at` was used `ms` later: what follows it moves with it. */
  defer(at: number, ms: number): Promise<void>;
}

/**
 * Waits for granted slots. One that is used late, because a process was busy, is moved to when it was used, so that the
 * service never sees more than it allows; one that lies within a block announced later is left unused.
 */
export const createBudget = (slots: SlotSource, rules: BudgetRules): RequestBudget => {
  const tolerance = budgetMarginMs(rules) / 4;
  let blockedUntil = 0;
  return {
    acquire: async (signal) => {
      for (;;) {
        const asked = performance.now();
        const { waitMs, at } = await slots.grant();
        const slot = performance.now() + waitMs;
        if (waitMs > 0) await wait(waitMs, signal);
        else signal?.throwIfAborted();
        if (slot < blockedUntil) continue;
        const late = performance.now() - (asked + waitMs);
        // Not awaited: that would only make it later. If it fails, a 429 is the worst that comes of it.
        if (late > tolerance) slots.defer(at, late).catch(() => undefined);
        return;
      }
    },
    penalize: async (ms) => {
      blockedUntil = Math.max(blockedUntil, performance.now() + ms);
      await slots.block(ms);
    },
  };
};

/** Slots of one process. @param now monotonic milliseconds. */
export const createLocalSlots = (rules: BudgetRules, now: () => number = () => performance.now()): SlotSource => {
  const granted: number[] = [];
  const span = rules.perMs + budgetMarginMs(rules);
  let blockedUntil = 0;
  return {
    grant: async () => {
      const present = now();
      const oldest = granted.length >= rules.requests ? granted.shift() : undefined;
      const at = Math.max(present, blockedUntil, oldest === undefined ? 0 : oldest + span, granted.at(-1) ?? 0);
      granted.push(at);
      return { waitMs: at - present, at };
    },
    block: async (ms) => {
      blockedUntil = Math.max(blockedUntil, now() + ms);
    },
    defer: async (at, ms) => {
      const index = granted.lastIndexOf(at);
      if (index >= 0) granted[index] = at + ms;
    },
  };
};

/** The rolling window of one process. */
export const createLocalBudget = (rules: BudgetRules): RequestBudget => createBudget(createLocalSlots(rules), rules);
