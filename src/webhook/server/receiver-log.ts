/** What the receiver needs of a logger; pino has this shape. Fields are counts, names and codes, never call data. */
type Write = (fields: Record<string, unknown>, message: string) => void;

export interface ReceiverLog {
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** The code of an error of ours or of the system, for a log line: messages may carry what must not be logged. */
export const errorCode = (error: unknown): string => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const deepest = at.cause === undefined;
    if (deepest && 'code' in at && typeof at.code === 'string') return at.code;
    if (deepest) return at.name;
  }
  return 'unknown';
};
