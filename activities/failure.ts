/** The one place where our errors become Temporal's. Messages carry no personal data, and causes stay behind. */
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { CallsyncError } from '../src/errors.ts';

export const toActivityFailure = (error: unknown): Error => {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (error instanceof CallsyncError) {
    return ApplicationFailure.create({
      type: error.code,
      message: error.hint === undefined ? error.message : `${error.message} ${error.hint}`,
      nonRetryable: error.kind === 'terminal',
      ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
    });
  }
  const name = error instanceof Error ? error.name : typeof error;
  return ApplicationFailure.create({
    type: 'UNEXPECTED',
    message: `Unexpected ${name}; the worker's log has the details.`,
  });
};

/** An activity whose errors are logged with their causes and leave as Temporal's. */
export const guarded =
  <A extends unknown[], O>(
    deps: { readonly log: (event: string, fields: Record<string, unknown>) => void },
    name: string,
    work: (...args: A) => Promise<O>,
  ) =>
  async (...args: A): Promise<O> => {
    try {
      return await work(...args);
    } catch (error) {
      deps.log('activity failed', { activity: name, error });
      throw toActivityFailure(error);
    }
  };
