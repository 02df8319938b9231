/**
 * Knows whether the store takes deliveries, and drains the spool into it.
 *
 * closed: deliveries go to the inbox first. `trip` opens it.
 * open: deliveries go to the spool. The drain tries at growing pauses; it closes the breaker when the store takes a
 *   batch in the time of an answer, or when the spool is empty and the store takes a ping.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { InboxWriter } from '../../store/delivery/inbox-writer.ts';
import { errorCode, type ReceiverLog } from '../server/receiver-log.ts';
import type { Spool } from './spool.ts';

export interface CircuitBreaker {
  /** Closed: the store is tried first. */
  usable(): boolean;
  /** Opens it, because the store failed or was too slow. */
  trip(error: unknown): void;
  /** Starts the drain, unless it runs. */
  drain(): void;
  close(): Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;
/** A batch of the drain may take this many deadlines: no sender waits for it. */
const drainPatience = 5;

export const createCircuitBreaker = (options: {
  inbox: InboxWriter;
  spool: Spool;
  /** Longest that the store may take for a group or a ping. */
  deadlineMs: number;
  log: ReceiverLog;
  onDrained: (deliveries: number) => void;
}): CircuitBreaker => {
  const { inbox, spool, deadlineMs, log, onDrained } = options;
  const stop = new AbortController();
  let closed = true;
  let draining: Promise<void> | undefined;

  const close = (): void => {
    if (closed) return;
    closed = true;
    log.info({ waiting: spool.status().records }, 'The store takes deliveries again.');
  };

  const insert = async (batch: Parameters<InboxWriter['insert']>[0]): Promise<void> => {
    stop.signal.throwIfAborted();
    const startedAt = performance.now();
    await inbox.insert(batch, { deadlineMs: deadlineMs * drainPatience, spooled: true });
    if (performance.now() - startedAt < deadlineMs) close();
    onDrained(batch.length);
  };

  const pause = (ms: number) => sleep(ms, undefined, { signal: stop.signal, ref: false }).catch(() => {});

  const drainUntilEmpty = async (): Promise<void> => {
    let pauseMs = firstPauseMs;
    while (!stop.signal.aborted && (!closed || spool.status().records > 0)) {
      try {
        // The store failed a moment ago, and the group that met it is on its way to the spool.
        if (!closed) await pause(pauseMs);
        await spool.drain(insert);
        if (!closed) {
          await inbox.ping({ deadlineMs });
          close();
        }
        pauseMs = firstPauseMs;
      } catch (error) {
        if (stop.signal.aborted) return;
        log.warn({ code: errorCode(error), waiting: spool.status().records }, 'The spool could not be drained yet.');
        if (closed) await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
  };

  const drain = (): void => {
    if (stop.signal.aborted) return;
    draining ??= drainUntilEmpty().finally(() => {
      draining = undefined;
      // The store may have failed again since the last look.
      if (!closed || spool.status().records > 0) drain();
    });
  };

  drain();
  return {
    usable: () => closed,
    trip(error) {
      if (closed) log.warn({ code: errorCode(error) }, 'The store is away or slow: deliveries go to the spool.');
      closed = false;
      drain();
    },
    drain,
    async close() {
      stop.abort();
      await draining;
    },
  };
};
