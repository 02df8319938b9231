/** Tells a refusal that may pass from one that stays. */
import { type CallsyncError, terminal, transient } from '../../lib/errors.ts';

/** So long a service that answered before may refuse, such as during a deployment, before that counts as its answer. */
const defaultGraceMs = 5 * 60_000;
/** Questions whose refusals are remembered at once. */
const mostQuestions = 1_000;

export interface Refusals {
  /** The service is known to have answered before. */
  proven(): void;
  /** The service answered: a refusal of access or address is over, and so is that of this question. */
  answered(question: string): void;
  /**
   * A terminal refusal as a transient one, while it may pass: access was proven, and the refusal is younger than the
   * grace. Later as a terminal one that tells its history. Other errors as they are.
   */
  judge(failure: CallsyncError, question: string): CallsyncError;
}

/** Refusals that concern every question, by code; the others concern one query. */
const general = new Set([
  'ACCESS_DENIED',
  'LIST_MISSING',
  'SERVICE_REFUSED',
  'TOKEN_ENDPOINT_MISSING',
  'TOKEN_REFUSED',
]);
const ofQuestion = 'LIST_REFUSED';

/** @param now monotonic milliseconds. */
export const createRefusals = (
  graceMs: number = defaultGraceMs,
  now: () => number = () => performance.now(),
): Refusals => {
  let proven = false;
  const since = new Map<string, { readonly at: number; count: number }>();
  return {
    proven: () => {
      proven = true;
    },
    answered: (question) => {
      proven = true;
      since.delete(question);
      for (const code of general) since.delete(code);
    },
    judge: (failure, question) => {
      const key = general.has(failure.code) ? failure.code : question;
      if (!proven || failure.kind !== 'terminal' || (key === question && failure.code !== ofQuestion)) return failure;
      const refusal = since.get(key) ?? { at: now(), count: 0 };
      refusal.count++;
      if (since.size < mostQuestions) since.set(key, refusal);
      const { code, message, hint } = failure;
      const lastedMs = now() - refusal.at;
      if (lastedMs < graceMs) {
        return transient(code, `${message} It had answered before.`, { hint, cause: failure });
      }
      const history = `It had answered before, and has refused ${refusal.count} times over ${Math.round(lastedMs / 60_000)} minutes.`;
      return terminal(code, `${message} ${history}`, { hint, cause: failure });
    },
  };
};
