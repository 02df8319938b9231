/**
 * The one error class that crosses module borders. Terminal means that trying again cannot help until somebody
 * changes something; transient means that the same call may succeed later. Which of the two is decided once, at the
 * edge where the fault was seen; `activities/failure.ts` maps it for Temporal and `src/cli` to an exit code.
 */
export type ErrorKind = 'terminal' | 'transient';

interface CallsyncErrorOptions {
  /** What the user can do about it, one sentence in the imperative. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Milliseconds after which a transient error may be tried again, where the other side said so. */
  readonly retryAfterMs?: number;
}

export class CallsyncError extends Error {
  readonly code: string;
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;

  /**
   * @param code stable, upper case with underscores: `CONFIG_INVALID`, `TOKEN_REFUSED`, `STORE_UNREACHABLE`, …
   * @param message one sentence without personal data or secrets.
   */
  constructor(kind: ErrorKind, code: string, message: string, options: CallsyncErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CallsyncError';
    this.kind = kind;
    this.code = code;
    this.hint = options.hint;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** An error that another attempt cannot repair: a setting, a right, a bug. @param code as for `CallsyncError`. */
export const terminal = (code: string, message: string, options?: CallsyncErrorOptions): CallsyncError =>
  new CallsyncError('terminal', code, message, options);
/** An error that may be gone at the next attempt: a network, a server, a limit. @param code as for `CallsyncError`. */
export const transient = (code: string, message: string, options?: CallsyncErrorOptions): CallsyncError =>
  new CallsyncError('transient', code, message, options);

/** What `work` returns; undefined where a value is nested too deeply to be walked or written as JSON. */
export const unlessTooDeep = <T>(work: () => T): T | undefined => {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};
