/** Knows whether the store takes deliveries, and brings what waits in the spool to it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { InboxWriter } from '../../store/delivery/inbox-writer.ts';
import { errorCode, type ReceiverLog } from '../server/receiver-log.ts';
import type { Spool } from './spool.ts';

export interface CircuitBreaker {
  /** Whether deliveries should be tried on the store first. */
  usable(): boolean;
  /** The store failed: from now on deliveries go to the spool, until it takes one from there. */
  shut(error: unknown): void;
  /** Something was written to the spool, perhaps after it was drained. */
  spooled(): void;
  close(): Promise<void>;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;
/** A drain may take longer than an answer: nobody waits for it. */
const patience = 5;

export const createCircuitBreaker = (options: {
  inbox: InboxWriter;
  spool: Spool;
  deadlineMs: number;
  log: ReceiverLog;
  onDrained: (deliveries: number) => void;
}): CircuitBreaker => {
  const { inbox, spool, deadlineMs, log, onDrained } = options;
  const stop = new AbortController();
  let usable = true;
  let draining: Promise<void> | undefined;

  const opened = (): void => {
    if (usable) return;
    usable = true;
    log.info({ waiting: spool.status().records }, 'The store takes deliveries again.');
  };

  const bring = async (batch: Parameters<InboxWriter['insert']>[0]): Promise<void> => {
    stop.signal.throwIfAborted();
    const startedAt = performance.now();
    await inbox.insert(batch, { deadlineMs: deadlineMs * patience, spooled: true });
    if (performance.now() - startedAt < deadlineMs) opened();
    onDrained(batch.length);
  };

  const pause = (ms: number) => sleep(ms, undefined, { signal: stop.signal, ref: false }).catch(() => {});

  const drainUntilEmpty = async (): Promise<void> => {
    let pauseMs = firstPauseMs;
    while (!stop.signal.aborted && (!usable || spool.status().records > 0)) {
      try {
        // What failed just now is not tried again at once, and is on its way to the spool.
        if (!usable) await pause(pauseMs);
        await spool.drain(bring);
        if (!usable) {
          await inbox.ping({ deadlineMs });
          opened();
        }
        pauseMs = firstPauseMs;
      } catch (error) {
        if (stop.signal.aborted) return;
        log.warn({ code: errorCode(error), waiting: spool.status().records }, 'The spool could not be drained yet.');
        if (usable) await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
  };

  const start = (): void => {
    if (stop.signal.aborted) return;
    draining ??= drainUntilEmpty().finally(() => {
      draining = undefined;
      // The store may have failed again after the last look.
      if (!usable || spool.status().records > 0) start();
    });
  };

  start();
  return {
    usable: () => usable,
    shut(error) {
      if (usable) log.warn({ code: errorCode(error) }, 'The store is away or slow: deliveries go to the spool.');
      usable = false;
      start();
    },
    spooled: start,
    async close() {
      stop.abort();
      await draining;
    },
  };
};
