/** Logger of the receiver; pino has this shape. Fields are counts, names and codes, never call data. */
type Write = (fields: Record<string, unknown>, message: string) => void;

export interface ReceiverLog {
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** One line a minute for all that was refused or dropped: a line each would let anyone fill the disk. */
export const createDropLog = (log: ReceiverLog, intervalMs = 60_000) => {
  let counts: Record<string, number> = {};
  const write = (): void => {
    if (Object.keys(counts).length === 0) return;
    log.warn(counts, 'Refused deliveries and connections since the last such line, by reason.');
    counts = {};
  };
  const timer = setInterval(write, intervalMs).unref();
  return {
    count(reason: string) {
      counts[reason] = (counts[reason] ?? 0) + 1;
    },
    close() {
      clearInterval(timer);
      write();
    },
  };
};
