/** Logger of the receiver; pino has this shape. Fields are counts, names and codes, never call data. */
type Write = (fields: Record<string, unknown>, message: string) => void;

export interface ReceiverLog {
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** The code of a callsync or system error, for a log line; messages could have data that must not be logged. */
export const errorCode = (error: unknown): string => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const deepest = at.cause === undefined;
    if (deepest && 'code' in at && typeof at.code === 'string') return at.code;
    if (deepest) return at.name;
  }
  return 'unknown';
};

/** One line a minute for all that was refused or dropped: a line each would let anyone fill the disk. */
export const createDropLog = (log: ReceiverLog, intervalMs = 60_000) => {
  let counts: Record<string, number> = {};
  const write = (): void => {
    if (Object.keys(counts).length === 0) return;
    log.warn(counts, 'Refused deliveries and connections since the last such line, by reason.');
    counts = {};
  };
  const timer = setInterval(write, intervalMs);
  timer.unref();
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
