/** Wakes the inbox merge after commits: at once, then at most once an interval. */
import { transient } from '../../errors.ts';
import { errorCode, type ReceiverLog } from './receiver-log.ts';

export interface WakeUp {
  /** Something landed. Never throws; a failing wake is logged once per outage, and the next commit tries again. */
  notify(): void;
  close(): Promise<void>;
}

/** A wake that hangs for longer counts as failed. */
const giveUpMs = 5_000;

export const createWakeUp = (options: {
  wake: () => Promise<void>;
  intervalMs: number;
  log: ReceiverLog;
  onFailure: () => void;
}): WakeUp => {
  const { wake, intervalMs, log, onFailure } = options;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | undefined;
  let wanted = false;
  let failing = false;
  let closed = false;

  const start = (): void => {
    wanted = false;
    underWay = attempt(wake)
      .then(
        () => {
          failing = false;
        },
        (error: unknown) => {
          onFailure();
          if (!failing)
            log.warn({ code: errorCode(error) }, 'The inbox merge could not be woken; a sweep finds what landed.');
          failing = true;
        },
      )
      .then(() => {
        underWay = undefined;
        if (closed) return;
        timer = setTimeout(() => {
          timer = undefined;
          if (wanted) start();
        }, intervalMs);
      });
  };

  return {
    notify() {
      wanted = true;
      if (!closed && underWay === undefined && timer === undefined) start();
    },
    async close() {
      clearTimeout(timer);
      timer = undefined;
      await underWay;
      closed = true;
      clearTimeout(timer);
      if (wanted) await attempt(wake).catch(onFailure);
    },
  };
};

const attempt = async (wake: () => Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(transient('WAKE_LATE', 'Waking the inbox merge took too long.')), giveUpMs);
  });
  try {
    await Promise.race([Promise.resolve().then(wake), late]);
  } finally {
    clearTimeout(timer);
  }
};
