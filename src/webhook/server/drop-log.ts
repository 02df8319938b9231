/** One line a minute for all that was refused or dropped: a line each would let anyone fill the disk. */
import type { ReceiverLog } from './receiver-log.ts';

export interface DropLog {
  count(reason: string): void;
  close(): void;
}

export const createDropLog = (log: ReceiverLog, intervalMs = 60_000): DropLog => {
  let counts: Record<string, number> = {};
  const write = (): void => {
    if (Object.keys(counts).length === 0) return;
    log.warn(counts, 'Deliveries or connections were refused since the last such line, by reason.');
    counts = {};
  };
  const timer = setInterval(write, intervalMs);
  timer.unref();
  return {
    count(reason) {
      counts[reason] = (counts[reason] ?? 0) + 1;
    },
    close() {
      clearInterval(timer);
      write();
    },
  };
};
