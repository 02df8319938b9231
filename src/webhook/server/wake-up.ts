/** Wakes the inbox merge, also after failures. */
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../lib/errors.ts';
import type { ReceiverLog } from './receiver-log.ts';

/**
 * Wakes the inbox merge: at once, then at most once in `intervalMs`.
 * @param options.intervalMs least pause between two wakes, in milliseconds.
 */
export const createWakeUp = (options: {
  /** Ends in time. */
  wake: () => Promise<unknown>;
  intervalMs: number;
  log: Pick<ReceiverLog, 'warn'>;
  onFailure?: () => void;
}) => {
  const { wake, intervalMs, log, onFailure } = options;
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  let wanted = false;
  let failing = false;

  const attempt = async (): Promise<void> => {
    wanted = false;
    try {
      await wake();
      failing = false;
    } catch (error) {
      onFailure?.();
      const message = 'callsync could not wake the inbox merge; the sweep merges the deliveries.';
      if (!failing) log.warn({ code: errorCode(error) }, message);
      failing = true;
    }
  };
  const run = async (): Promise<void> => {
    while (wanted && !stop.signal.aborted) {
      await attempt();
      await sleep(intervalMs, undefined, { signal: stop.signal }).catch(() => {});
    }
    running = undefined;
  };

  return {
    /**
     * The inbox has something new. Never throws: a failing wake is logged once per outage, and the next commit tries
     * again.
     */
    notify() {
      wanted = true;
      if (!stop.signal.aborted) running ??= run();
    },
    async close() {
      stop.abort();
      await running;
      if (wanted) await attempt();
    },
  };
};
