/** Wakes the inbox merge after commits: at once, then at most once in `intervalMs`. */
import { withinTime } from '../../lib/backoff.ts';
import { transient } from '../../lib/errors.ts';
import { errorCode, type ReceiverLog } from './receiver-log.ts';

/** A wake that takes longer counts as failed. */
const giveUpMs = 5_000;

/** @param options.intervalMs least pause between two wakes, in milliseconds. */
export const createWakeUp = (options: {
  wake: () => Promise<void>;
  intervalMs: number;
  log: Pick<ReceiverLog, 'warn'>;
  onFailure: () => void;
}) => {
  const { wake, intervalMs, log, onFailure } = options;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | undefined;
  let wanted = false;
  let failing = false;
  let closed = false;

  const attempt = async (): Promise<void> => {
    wanted = false;
    try {
      await withinTime(wake(), giveUpMs, () => transient('WAKE_LATE', 'Waking the inbox merge took too long.'));
      failing = false;
    } catch (error) {
      onFailure();
      if (!failing) {
        log.warn(
          { code: errorCode(error) },
          'callsync could not wake the inbox merge; the sweep merges the deliveries.',
        );
      }
      failing = true;
    }
    underWay = undefined;
    if (closed) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (wanted) underWay = attempt();
    }, intervalMs);
  };

  return {
    /**
     * The inbox has something new. Never throws: a failing wake is logged once per outage, and the next commit tries
     * again.
     */
    notify() {
      wanted = true;
      if (!closed && underWay === undefined && timer === undefined) underWay = attempt();
    },
    async close() {
      clearTimeout(timer);
      closed = true;
      await underWay;
      if (wanted) await attempt();
    },
  };
};
