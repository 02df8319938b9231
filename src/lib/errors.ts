/**
 * The error class of module borders. A terminal error stays until somebody changes something. After a transient
 * error, the same call may succeed later. The edge that sees the fault decides; `activities/failure.ts` maps it for
 * Temporal, `src/cli` to an exit code.
 */
import { type ErrorCode, nextSteps } from './error-codes.ts';

export type ErrorKind = 'terminal' | 'transient';

interface CallsyncErrorOptions {
  /** Next step of the user, where the code alone does not say it: one imperative sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Milliseconds after which a transient error may be tried again, where the other side said so. */
  readonly retryAfterMs?: number;
}

export class CallsyncError extends Error {
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;

  /**
   * @param message one sentence without personal data or secrets.
   */
  constructor(kind: ErrorKind, code: ErrorCode, message: string, options: CallsyncErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CallsyncError';
    this.kind = kind;
    this.code = code;
    this.hint = options.hint ?? nextSteps.get(code);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Code, message and next step in one text; the code alone of an error whose message may hold data. */
export const describeError = (error: unknown): string =>
  error instanceof CallsyncError
    ? [`${error.code}: ${error.message}`, error.hint].filter(Boolean).join(' ')
    : 'UNEXPECTED';

/** An error that another attempt cannot repair: a setting, a right, a bug. */
export const terminal = (code: ErrorCode, message: string, options?: CallsyncErrorOptions): CallsyncError =>
  new CallsyncError('terminal', code, message, options);
/** An error that may be gone at the next attempt: a network, a server, a limit. */
export const transient = (code: ErrorCode, message: string, options?: CallsyncErrorOptions): CallsyncError =>
  new CallsyncError('transient', code, message, options);

const untrusted = /^(CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|HOSTNAME_MISMATCH)/;

/** Whether the code of a failed connection says that the certificate of the other side cannot be trusted. */
export const isUntrusted = (code: string): boolean => untrusted.test(code);

/** The code of a callsync or system error, for a log line; messages could have data that must not be logged. */
export const errorCode = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  if (error.cause !== undefined) return errorCode(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
};
