/**
 * Knows whether the store takes deliveries.
 *
 * closed: deliveries go to the inbox. `trip` opens it.
 * open: deliveries go to the spool. A ping at growing pauses closes it, so that a delivery or a spool file that the store
 *   cannot take holds up no other.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode, type ReceiverLog } from '../server/receiver-log.ts';

export interface CircuitBreaker {
  /** Closed: the store is tried first. */
  usable(): boolean;
  /** Opens it, because the store failed or was too slow. */
  trip(error: unknown): void;
  close(): Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;

/** @param options.ping rejects when the store cannot take a delivery. */
export const createCircuitBreaker = (options: {
  readonly ping: () => Promise<void>;
  readonly log: ReceiverLog;
  /** The store takes deliveries again. */
  readonly onClose: () => void;
}): CircuitBreaker => {
  const { ping, log, onClose } = options;
  const stop = new AbortController();
  let usable = true;
  let probing = Promise.resolve();

  const probe = async (): Promise<void> => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      await sleep(pauseMs, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      if (stop.signal.aborted) return;
      try {
        await ping();
        usable = true;
        log.info({}, 'The store takes deliveries again.');
        return onClose();
      } catch {
        // Said once, when it opened.
      }
    }
  };

  return {
    usable: () => usable,
    trip(error) {
      if (!usable) return;
      usable = false;
      log.warn({ code: errorCode(error) }, 'The store is away or slow: deliveries go to the spool.');
      probing = probe();
    },
    async close() {
      stop.abort();
      await probing;
    },
  };
};
