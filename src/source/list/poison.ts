import { CallsyncError } from '../../lib/errors.ts';

const codes = new Set([
  'SERVICE_UNAVAILABLE',
  'SERVICE_BROKEN',
  'SERVICE_TIMEOUT',
  'LIST_FAILED',
  'LIST_MALFORMED',
  'RESPONSE_TOO_LARGE',
]);

/** Whether a failure may be due to single records of the answer: a smaller question may then succeed. */
export const isPoison = (error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && codes.has(error.code);
