/**
 * Bounds the bytes of pages in memory, over all windows that one client reads.
 * A permit is `reserved` while its page travels (the expected size counts), `filled` once the page is here (the true
 * size counts) and finally `released`. The limit is free without permits, shared while the next page fits, else full;
 * callers then wait in turn.
 */

import { EventEmitter, once } from 'node:events';

/** One large page, or five of a hundred usual calls each: four travel, as the documented rate allows in a second, and one loads. */
const defaultBytes = 20 * 1024 * 1024;

export type MemoryLimit = ReturnType<typeof createMemoryLimit>;

/** Held for one page: acquired before the page is asked for, released when its bytes are freed. */
export type Permit = Awaited<ReturnType<MemoryLimit['acquire']>>;

/** @param capacity bytes. */
export const createMemoryLimit = (capacity: number = defaultBytes) => {
  const expected = new Map<string, number>();
  /** Callers that wait, in turn. */
  const waiting = new Set<symbol>();
  /** Says that the next one may look again. */
  const changes = new EventEmitter().setMaxListeners(0);
  let permits = 0;
  let held = 0;

  const fits = (kind: string): boolean =>
    permits === 0 || held + (expected.get(kind) ?? Number.POSITIVE_INFINITY) <= capacity;

  const reserve = (kind: string) => {
    let size = expected.get(kind) ?? capacity;
    let isHeld = true;
    permits++;
    held += size;
    const resize = (bytes: number): void => {
      held += bytes - size;
      size = bytes;
      changes.emit('change');
    };
    return {
      /** reserved → filled: the true size replaces the expected one. No effect once released. */
      fill: (bytes: number): void => {
        if (!isHeld) return;
        // The largest page, forgotten slowly, because the last page of a window and the pages of a night are small.
        expected.set(kind, Math.max(bytes, (expected.get(kind) ?? 0) * 0.98));
        resize(bytes);
      },
      /** → released. May be called more than once. */
      release: (): void => {
        if (!isHeld) return;
        isHeld = false;
        permits--;
        resize(0);
      },
    };
  };

  /** As `acquire` without waiting, for prefetching a page; undefined if it does not fit. */
  const tryAcquire = (kind: string) => (waiting.size === 0 && fits(kind) ? reserve(kind) : undefined);

  /**
   * Waits, in turn, until a page of this kind fits; one larger than the limit fits when nothing else is held. The size
   * of a kind is learned from the pages that came; until the first is here it is held alone.
   * @throws the signal's reason.
   */
  const acquire = async (kind: string, signal: AbortSignal) => {
    signal.throwIfAborted();
    const own = Symbol(kind);
    waiting.add(own);
    try {
      while (waiting.values().next().value !== own || !fits(kind))
        await once(changes, 'change', { signal }).catch(() => signal.throwIfAborted());
      return reserve(kind);
    } finally {
      waiting.delete(own);
      changes.emit('change');
    }
  };

  return { acquire, tryAcquire };
};
