/**
 * Bounds the bytes of pages in memory, over all windows that one client reads.
 * A permit is `reserved` while its page travels (the expected size counts), `filled` once the page is here (the true
 * size counts) and finally `released`. The limit is free without permits, shared while the next page fits, else full;
 * callers then wait in turn.
 */

/** One large page, or five of a hundred usual calls each: four travel, as the documented rate allows in a second, and one loads. */
const defaultBytes = 20 * 1024 * 1024;

/** Held for one page: acquired before the page is asked for, released when its bytes are freed. */
export interface Permit {
  /** reserved → filled: the true size replaces the expected one. No effect once released. */
  fill(bytes: number): void;
  /** → released. May be called more than once. */
  release(): void;
}

interface Waiter {
  readonly kind: string;
  admit(permit: Permit): void;
}

/** @param capacity bytes. */
export const createMemoryLimit = (capacity: number = defaultBytes) => {
  const expected = new Map<string, number>();
  const waiters: Waiter[] = [];
  let permits = 0;
  let held = 0;

  const fits = (kind: string): boolean =>
    permits === 0 || held + (expected.get(kind) ?? Number.POSITIVE_INFINITY) <= capacity;

  const admitWaiters = (): void => {
    for (let next = waiters[0]; next !== undefined && fits(next.kind); next = waiters[0]) {
      waiters.shift();
      next.admit(reserve(next.kind));
    }
  };

  const reserve = (kind: string): Permit => {
    let state: 'reserved' | 'filled' | 'released' = 'reserved';
    let size = expected.get(kind) ?? capacity;
    permits++;
    held += size;
    const become = (next: 'filled' | 'released', bytes: number): void => {
      if (state === 'released') return;
      state = next;
      held += bytes - size;
      size = bytes;
      if (next === 'released') permits--;
      // The largest page, forgotten slowly, because the last page of a window and the pages of a night are small.
      else expected.set(kind, Math.max(bytes, (expected.get(kind) ?? 0) * 0.98));
      admitWaiters();
    };
    return { fill: (bytes) => become('filled', bytes), release: () => become('released', 0) };
  };

  /** As `acquire` without waiting, for prefetching a page; undefined if it does not fit. */
  const tryAcquire = (kind: string): Permit | undefined =>
    waiters.length === 0 && fits(kind) ? reserve(kind) : undefined;

  /**
   * Waits, in turn, until a page of this kind fits; one larger than the limit fits when nothing else is held. The size
   * of a kind is learned from the pages that came; until the first is here it is held alone.
   * @throws the signal's reason.
   */
  const acquire = (kind: string, signal: AbortSignal): Promise<Permit> =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const permit = tryAcquire(kind);
      if (permit !== undefined) return resolve(permit);
      const waiter: Waiter = {
        kind,
        admit: (admitted) => {
          signal.removeEventListener('abort', leave);
          resolve(admitted);
        },
      };
      const leave = (): void => {
        waiters.splice(waiters.indexOf(waiter), 1);
        reject(signal.reason);
        admitWaiters();
      };
      signal.addEventListener('abort', leave, { once: true });
      waiters.push(waiter);
    });

  return { acquire, tryAcquire };
};
