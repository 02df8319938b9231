/** How many bytes of pages are held at once, over all windows that are read through one client. */
import { collectGarbage } from './collect-garbage.ts';

/** One page of 50 MB, two of half that, or the pages of eight readers and those fetched ahead where they are small. */
const roomBytes = 48 * 1024 * 1024;
/** Let go of this much in large pages, V8 is made to look: it does not count the bytes of a buffer as its own. */
const garbageBytes = 16 * 1024 * 1024;
const largeBytes = 8 * 1024 * 1024;

/** The place of one page: taken before the page is asked for, given back when its bytes are let go. */
export interface Place {
  /** The page is here: its true size replaces the expected one. */
  fill(bytes: number): void;
  /** May be called more than once. */
  release(): void;
}

export interface MemoryLimit {
  /**
   * Waits, in turn, until a page of this kind fits; one larger than the room fits when nothing else is held. What a
   * kind weighs is learned from the pages that came; until the first is here it is held alone.
   */
  take(kind: string, signal: AbortSignal): Promise<Place>;
  /** The same without waiting, for a page ahead of one that is still held; undefined where it does not fit. */
  tryTake(kind: string): Place | undefined;
}

interface Waiter {
  readonly kind: string;
  enter(place: Place): void;
}

export const createMemoryLimit = (capacity: number = roomBytes): MemoryLimit => {
  const expected = new Map<string, number>();
  const queue: Waiter[] = [];
  let places = 0;
  let held = 0;
  let garbage = 0;

  const fits = (kind: string): boolean =>
    places === 0 || held + (expected.get(kind) ?? Number.POSITIVE_INFINITY) <= capacity;

  const admit = (): void => {
    for (let next = queue[0]; next !== undefined && fits(next.kind); next = queue[0]) {
      queue.shift();
      next.enter(open(next.kind));
    }
  };

  const open = (kind: string): Place => {
    let size = expected.get(kind) ?? capacity;
    let filled = false;
    let gone = false;
    const resize = (bytes: number): void => {
      held += bytes - size;
      size = bytes;
    };
    places++;
    held += size;
    return {
      fill: (bytes) => {
        if (gone) return;
        filled = true;
        // The largest one, forgotten slowly: the last page of a window is small, and so are those of a night.
        expected.set(kind, Math.max(bytes, (expected.get(kind) ?? 0) * 0.98));
        resize(bytes);
        admit();
      },
      release: () => {
        if (gone) return;
        gone = true;
        places--;
        if (filled && size >= largeBytes) garbage += size;
        resize(0);
        admit();
      },
    };
  };

  const waitForPlace = (kind: string, signal: AbortSignal): Promise<Place> =>
    new Promise((resolve, reject) => {
      const waiter: Waiter = {
        kind,
        enter: (place) => {
          signal.removeEventListener('abort', leave);
          resolve(place);
        },
      };
      const leave = (): void => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(signal.reason);
        admit();
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(waiter);
    });

  const tryTake = (kind: string): Place | undefined => (queue.length === 0 && fits(kind) ? open(kind) : undefined);

  return {
    tryTake,
    take: async (kind, signal) => {
      signal.throwIfAborted();
      const place = tryTake(kind) ?? (await waitForPlace(kind, signal));
      if (garbage >= garbageBytes) {
        garbage = 0;
        collectGarbage();
      }
      return place;
    },
  };
};
