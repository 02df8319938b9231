/** Access tokens: one request for all waiting callers, renewed before expiry, dropped when the service rejects them. */

import { CallsyncError } from '../../lib/errors.ts';
import type { SecretSource } from '../../lib/secret.ts';
import { abortable, type BackoffRules, backoffMs, joining, type Pause, wait } from '../../lib/timing.ts';
import { createRefusals } from './errors.ts';
import type { RequestGrant } from './grant.ts';

interface Token {
  readonly value: string;
  /** Local monotonic milliseconds just before the token was requested: its age counts from there. */
  readonly requestedAt: number;
  /** On the same scale; infinite for a fixed token. */
  readonly expiresAt: number;
}

export type TokenSource = ReturnType<typeof createTokenSource>;

interface TokenRules {
  /** Lifetime where the response does not say one, in milliseconds. */
  readonly assumedLifetimeMs: number;
  /** Requests made before a failure is handed to the caller, when there is no token left to use. */
  readonly attempts?: number;
  /** Pauses between them; up to 250 ms, doubling to 5 s, by default. */
  readonly backoff?: BackoffRules;
  readonly pause?: Pause | undefined;
  readonly now?: () => number;
}

/**
 * Measures ages on our monotonic clock from the request on. A skewed clock or a slow answer therefore never makes a
 * token look too young.
 */
export const createTokenSource = (requestGrant: RequestGrant, rules: TokenRules) => {
  const { attempts = 4, backoff = { baseMs: 250, maxMs: 5_000 }, pause = wait, now = () => performance.now() } = rules;
  let current: Token | undefined;
  let failures = 0;
  let notBefore = 0;
  let failure: unknown;
  const refusals = createRefusals(now);

  const counts = { requests: 0, failures: 0 };

  const renew = joining(async () => {
    for (let attempt = 0; ; attempt++) {
      // Also failures of other callers, so that work that waits for a token asks for it ever more rarely.
      if (failures > 0 && !usable(current)) await pause(notBefore - now(), undefined, failure);
      const requestedAt = now();
      counts.requests++;
      try {
        const { accessToken, expiresIn } = await requestGrant();
        const lifetimeMs = expiresIn === undefined ? rules.assumedLifetimeMs : expiresIn * 1000;
        current = { value: accessToken, requestedAt, expiresAt: requestedAt + lifetimeMs };
        refusals.answered('token');
        failures = 0;
        notBefore = 0;
        return current;
      } catch (cause) {
        counts.failures++;
        failure = cause instanceof CallsyncError ? refusals.judge(cause, 'token') : cause;
        const { kind, retryAfterMs } = failure instanceof CallsyncError ? failure : {};
        const again = kind === 'transient' && attempt + 1 < attempts;
        notBefore = now() + Math.max(backoffMs(failures++, backoff, retryAfterMs), usable(current) ? 250 : 0);
        // A request with a valid token uses it, and renews it later.
        if (!again || usable(current)) throw failure;
      }
    }
  });

  const usable = (token: Token | undefined): token is Token =>
    token !== undefined && now() < token.expiresAt - guard(token);

  return {
    /** Requests to the identity provider. */
    counts,
    /** A token that is good for now. While renewal fails, the current one as long as it lasts. */
    get: async (signal?: AbortSignal) => {
      const token = current;
      if (!usable(token)) return abortable(renew(), signal);
      if (now() >= Math.max(notBefore, token.expiresAt - margin(token))) renew().catch(() => undefined);
      return token;
    },
    /** Forgets the token if it is the rejected token; a newer token stays. */
    invalidate: (rejected: string) => {
      if (current?.value === rejected) current = undefined;
    },
    /** A token requested at most `maxAgeMs` ago. */
    fresh: async (maxAgeMs: number, signal?: AbortSignal) => {
      const isYoung = ({ requestedAt }: Token): boolean => now() - requestedAt < maxAgeMs;
      if (usable(current) && isYoung(current)) return current;
      const renewed = await abortable(renew(), signal);
      return isYoung(renewed) ? renewed : abortable(renew(), signal);
    },
  };
};

/** Renewal starts this long before the end: a fifth of the lifetime, at most five minutes. */
const margin = (token: Token): number => Math.min(300_000, (token.expiresAt - token.requestedAt) / 5);
/** A token is not used in its last moments: it could end on its way. */
const guard = (token: Token): number => Math.min(5_000, (token.expiresAt - token.requestedAt) / 20);

/** A token that somebody issued by hand; read each time, since its file may change. */
export const createFixedTokenSource = (secret: SecretSource): TokenSource => {
  const get = async (): Promise<Token> => ({
    value: secret.read(),
    requestedAt: performance.now(),
    expiresAt: Number.POSITIVE_INFINITY,
  });
  return { get, invalidate: () => undefined, fresh: get, counts: { requests: 0, failures: 0 } };
};
