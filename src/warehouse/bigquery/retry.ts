/** The only retry loop of this warehouse: repeats transient faults with growing pauses. */
import { type BackoffRules, backoffMs, type wait } from '../../lib/timing.ts';
import { errorOf, type Fault, faultOf, judge, type Meaning } from './errors.ts';

const pace: BackoffRules = { baseMs: 500, maxMs: 15_000 };

export type Pause = typeof wait;

export interface RetryRules {
  /** Attempts in all; 8 by default, which is about a minute of pauses. */
  readonly attempts?: number;
  /** Faults that are worth another attempt; `lost` and `again` by default. */
  readonly meanings?: readonly Meaning[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work`, told the number of the attempt from 1. Rejects with the last `Fault`, or at once with any other
 * Error. `work` must be safe to repeat, or take another job id in each attempt.
 */
export const retry = async <T>(pause: Pause, work: (attempt: number) => Promise<T>, rules: RetryRules = {}) => {
  const { attempts = 8, meanings = ['lost', 'again'], signal } = rules;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (cause) {
      if (cause instanceof Error) throw cause;
      const fault = faultOf(cause);
      if (!meanings.includes(judge(fault).meaning) || attempt >= attempts) throw fault;
      await pause(backoffMs(attempt - 1, pace), signal);
    }
  }
};

/** For `.catch`: undefined where the fault means this. Other faults as `failTo`. */
export const unless =
  (meaning: Meaning, what: string) =>
  (cause: unknown): undefined =>
    judge(faultOf(cause)).meaning === meaning ? undefined : failTo(what)(cause);

/** For `.catch`: turns a fault into an error that names the attempt. Parameters as those of `errorOf`. */
export const failTo =
  (what: string, quotes?: NonNullable<Parameters<typeof errorOf>[2]>) =>
  (cause: unknown): never => {
    throw cause instanceof Error ? cause : errorOf(cause as Fault, what, quotes);
  };
