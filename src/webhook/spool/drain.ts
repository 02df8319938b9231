/**
 * Knows whether the store takes deliveries, and drains the spool into the inbox, oldest first.
 *
 * - Usable: deliveries go to the inbox, and the spool drains until `trip`.
 * - Away: deliveries go to the spool until a ping at growing pauses succeeds, so that no delivery blocks another.
 *
 * If the store refuses a batch but answers a ping, callsync halves the batch. A delivery that the store refuses alone is
 * parked.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../lib/errors.ts';
import type { Delivery, InboxWriter } from '../../store/delivery/inbox-writer.ts';
import type { ReceiverLog } from '../server/receiver-log.ts';
import type { Spool } from './spool.ts';

export type SpoolDrain = ReturnType<typeof createDrain>;

const firstPingMs = 250;
const longestPingMs = 5_000;
const batchRecords = 128;
/** Attempts at one delivery, and the pause between them, before it is parked. */
const attempts = 3;
const pauseMs = 1_000;
/** Slowest link to the store for which the time limit of a batch suffices. */
const bytesPerSecond = 128 * 1024;

/** Does nothing before `start`. Deliveries leave the spool once they are in the inbox or parked. */
export const createDrain = (options: {
  readonly inbox: Pick<InboxWriter, 'insertSpooled' | 'ping'>;
  readonly spool: Spool;
  /** Longest that a batch without its bytes may take. */
  readonly deadlineMs: number;
  readonly log: ReceiverLog;
  /** Called with the number of drained deliveries. */
  readonly onDrained: (deliveries: number) => void;
}) => {
  const { inbox, spool, deadlineMs, log, onDrained } = options;
  const stop = new AbortController();
  let probing = Promise.resolve();
  let running: Promise<void> | undefined;
  let limit = batchRecords;
  let failures = 0;
  const state = {
    usable: true,
    /** Since when nothing is brought although the store takes deliveries; undefined while something is, or there is nothing to do. */
    stalledSince: undefined as Date | undefined,
  };

  const probe = async (): Promise<void> => {
    for (let ms = firstPingMs; ; ms = Math.min(ms * 2, longestPingMs)) {
      await sleep(ms, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      if (stop.signal.aborted) return;
      try {
        await inbox.ping();
        state.usable = true;
        log.info({}, 'The store accepts deliveries again.');
        return start();
      } catch {
        // Said once, by `trip`.
      }
    }
  };

  const trip = (error: unknown): void => {
    if (!state.usable) return;
    state.usable = false;
    log.warn({ code: errorCode(error) }, 'The store is away or slow; deliveries go to the spool.');
    probing = probe();
  };

  const hasWork = (): boolean => !stop.signal.aborted && state.usable && spool.status().records > 0;

  const bring = async (batch: readonly Delivery[]): Promise<void> => {
    const bytes = batch.reduce((sum, { body }) => sum + body.length, 0);
    // Nobody waits for it: a large batch may take as long as a slow link needs.
    await inbox.insertSpooled(batch, deadlineMs + (bytes / bytesPerSecond) * 1_000);
    // Counted before they leave the spool, so that an empty spool means counted deliveries.
    onDrained(batch.length);
    await spool.advance();
    limit = Math.min(limit * 2, batchRecords);
    failures = 0;
    state.stalledSince = undefined;
  };

  const yieldTo = async (batch: readonly Delivery[], error: unknown): Promise<void> => {
    const code = errorCode(error);
    if (batch.length > 1) limit = Math.ceil(batch.length / 2);
    else if (++failures < attempts) await sleep(pauseMs, undefined, { signal: stop.signal, ref: false });
    else {
      await spool.park(code);
      failures = 0;
      log.error(
        { code, parked: spool.status().parked },
        'The store refuses a delivery; it stays in the spool folder until the next start, which tries it again.',
      );
    }
  };

  const drainBatch = async (): Promise<void> => {
    const batch = await spool.read(limit);
    if (batch.length === 0) return;
    try {
      await bring(batch);
    } catch (error) {
      state.stalledSince ??= new Date();
      try {
        await inbox.ping();
      } catch {
        state.stalledSince = undefined;
        return trip(error);
      }
      await yieldTo(batch, error);
    }
  };

  const drainAll = async (): Promise<void> => {
    while (hasWork()) {
      try {
        await drainBatch();
      } catch (error) {
        if (stop.signal.aborted) return;
        state.stalledSince ??= new Date();
        log.warn({ code: errorCode(error), waiting: spool.status().records }, 'The spool could not be drained yet.');
        await sleep(pauseMs, undefined, { signal: stop.signal, ref: false }).catch(() => {});
      }
    }
  };

  const start = (): void => {
    if (!hasWork()) return;
    running ??= drainAll().finally(() => {
      running = undefined;
      // Something may have been spooled after the last look.
      start();
    });
  };

  start();
  return {
    /** As it is at any moment. */
    state: state as Readonly<typeof state>,
    /** The store failed or was too slow. */
    trip,
    /** Starts the drain, unless it runs. */
    start,
    async close() {
      stop.abort();
      await Promise.all([probing, running]);
    },
  };
};
