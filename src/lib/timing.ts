/** When work is done: once, again, in time. Temporal retries activities itself. */
import { setTimeout as sleep } from 'node:timers/promises';

export type BackoffRules = { readonly baseMs: number; readonly maxMs: number };

/**
 * Milliseconds to wait, with full jitter: between 0 and a bound that doubles, and never less than the other side
 * asked for. A wait of 0, or until a time in the past, sets no pace.
 * @param attempt failures so far, from 0.
 */
export const backoffMs = (attempt: number, rules: BackoffRules, retryAfterMs?: number, random = Math.random) => {
  const bound = Math.min(rules.maxMs, rules.baseMs * 2 ** attempt);
  return retryAfterMs ? retryAfterMs + random() * Math.min(bound, rules.baseMs) : random() * bound;
};

/**
 * Distance of requests in milliseconds after an overload: by `wider` more than the one before, from `first` to `most`.
 * The distance shrinks by a millisecond in each `shrinkMs`. A gateway that allows fewer requests than configured then
 * refuses about one in ten. As many random failures do not slow callsync down.
 * @param evenMs distance that uses the limit without bursts.
 */
export const spacingOf = (evenMs: number) => ({
  ...{ first: Math.max(100, evenMs), most: Math.max(2_000, 8 * evenMs) },
  ...{ wider: 1.6, shrinkMs: 30 },
});

/** Resolves after `ms`; rejects with the signal's reason as soon as it is aborted. */
export const wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await sleep(Math.max(0, Math.ceil(ms)), undefined, signal && { signal }).catch((error: unknown) => {
    throw signal?.aborted === true ? signal.reason : error;
  });
};

/** As `wait`, before another attempt after a failure; throws the failure where there will be none. */
export type Pause = (ms: number, signal: AbortSignal | undefined, failure: unknown) => Promise<void>;

/** The outcome of the work, or the signal's reason as soon as it is aborted; the work goes on then. */
export const abortable = <T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
};

/** The outcome of the work, or an error where it takes longer than `ms`; the work goes on then. */
export const withinTime = async <T>(work: Promise<T>, ms: number, late: () => unknown): Promise<T> => {
  work.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  return await Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
};

/**
 * Does work now and every `ms`, never twice at once, and keeps no process alive.
 * @returns ends the repetition, after the work under way
 */
export const repeatEvery = (ms: number, work: () => Promise<void>): (() => Promise<void>) => {
  const start = joining(work);
  let latest = start();
  const again = (): void => {
    latest = start();
  };
  const timer = setInterval(again, ms).unref();
  return async () => {
    clearInterval(timer);
    await latest;
  };
};

/** A function whose calls join the run under way. */
export const joining = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | undefined;
  return () =>
    (running ??= work().finally(() => {
      running = undefined;
    }));
};

/** A function whose value is made at its first call. */
export const lazily = <T>(make: () => T): (() => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};
