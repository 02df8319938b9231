/** Requests to the call API: token, version, request limit, retries (interface §4.2, §5.1, §9). */

import type { SourceConfig } from '../../../schemas/config/source.ts';
import { CallsyncError, terminal, transient } from '../../lib/errors.ts';
import type { Memory } from '../../lib/evidence.ts';
import { backoffMs, type Pause, wait } from '../../lib/timing.ts';
import { trimSlashes } from '../../lib/trim-slashes.ts';
import { createRefusals, failureOf, findsNothing, overloads, retriesOf } from './errors.ts';
import { type Http, type HttpResponse, refusePlainHttp, type ServiceClock } from './http.ts';
import type { RequestLimiter } from './limiter.ts';
import type { TokenSource } from './tokens.ts';

export interface GetOptions {
  readonly signal?: AbortSignal | undefined;
  /** These statuses are answers, not errors. */
  readonly accept?: readonly number[];
  /** Such a status is an answer only if it comes again after a wait. */
  readonly askAgain?: boolean;
  /** Fewer attempts than source.limits.retries allows. */
  readonly retries?: number | undefined;
}

export type Api = ReturnType<typeof createApi>;

/** Longest wait for a quota; the wait doubles with each refusal. */
const longestQuotaMs = 5 * 60_000;

interface ApiParts {
  readonly config: SourceConfig;
  readonly http: Http;
  readonly tokens: TokenSource;
  readonly limiter: RequestLimiter;
  readonly clock: ServiceClock;
  /** Keeps for all processes that the configured service ever answered one of them. */
  readonly proof?: Memory<true> | undefined;
  readonly pause?: Pause | undefined;
}

/**
 * Sends requests with a token, within the request limit, and repeats failed ones (interface §4).
 * @throws CallsyncError of the last attempt, from `get`.
 */
export const createApi = ({ config, http, tokens, limiter, clock, proof, pause = wait }: ApiParts) => {
  const { limits, version } = config;
  const base = baseAddress(config);
  refusePlainHttp(base, 'source.base_url', config);
  /** Since the start, for progress and for tests. */
  const counts = {
    ...{ requests: 0, retries: 0, rateLimited: 0, bodyBytes: 0 },
    /** Milliseconds spent waiting for the request limit, summed over requests. */
    waitedMs: 0,
    /** Answers by the first digit of their status, `2` to `5`. */
    answers: new Map<string, number>(),
  };
  const refusals = createRefusals();
  let quotaRefusals = 0;
  let proofKept = proof === undefined;

  /** Asked after failures only. A store that does not answer proves nothing. */
  const isProven = async (): Promise<boolean> => {
    if (!refusals.isProven() && (await proof?.read().catch(() => undefined))) refusals.proven();
    return refusals.isProven();
  };

  const slowDown = async (failure: unknown, slot: number): Promise<void> => {
    if (!(failure instanceof CallsyncError) || !overloads.has(failure.code)) return;
    if (failure.code === 'SERVICE_RATE_LIMIT') counts.rateLimited++;
    const quotaMs =
      failure.code === 'SERVICE_QUOTA' ? Math.min(longestQuotaMs, 1_000 * 2 ** ++quotaRefusals) : undefined;
    await limiter.penalize(failure.retryAfterMs || (quotaMs ?? (limits.per_s * 1000) / 10), slot);
  };

  /** One request, repeated with a fresh token where the service rejects the one that it has. */
  const sendOnce = async (asked: URL, signal: AbortSignal | undefined) => {
    const url = reachable(asked, base);
    for (let rejections = 0; ; rejections++) {
      // Asked for again behind the wait, in which it may expire. Nobody waits for a slot that no token can use.
      await tokens.get(signal);
      const askedAt = performance.now();
      const slot = await limiter.acquire(signal);
      counts.waitedMs += performance.now() - askedAt;
      const token = await tokens.get(signal);
      counts.requests++;
      const sent = http.send({ url, headers: headersOf(config, token.value), signal });
      await sent.catch((error: unknown) => slowDown(error, slot));
      const response = await sent;
      const digit = String(response.status).slice(0, 1);
      counts.answers.set(digit, (counts.answers.get(digit) ?? 0) + 1);
      counts.bodyBytes += response.body.length;
      const isRejected = response.status === 401 || (isDenied(response) && mayHaveEnded(token));
      if (!isRejected) return { response, slot };
      tokens.invalidate(token.value);
      if (rejections > 0) throw rejectedTwice(url, await isProven());
    }
  };

  const attempt = async <T>(url: URL, parse: (response: HttpResponse) => T | Promise<T>, options: GetOptions) => {
    const { response, slot } = await sendOnce(url, options.signal);
    const good = (response.status >= 200 && response.status <= 299) || findsNothing(response);
    if (!good && !options.accept?.includes(response.status)) {
      const failure = failureOf(response);
      await slowDown(failure, slot);
      await isProven();
      throw refusals.judge(failure, url.href);
    }
    quotaRefusals = 0;
    if (good) refusals.answered(url.href);
    const { sentAt, headAt, headers } = response;
    const observedAt = clock.observe({ sentAt, headAt, date: headers.date, age: headers.age });
    const value = await parse(response);
    if (good && !proofKept) {
      proofKept = true;
      // The caller with the next answer keeps it.
      await proof?.keep(true).catch(() => {
        proofKept = false;
      });
    }
    return { value, response, observedAt };
  };

  const backoff = { baseMs: limits.retry_base_ms, maxMs: limits.retry_max_ms };

  return {
    counts,
    spare: http.spare,
    /** Address under base_url, with version and parameters. */
    address: (path: string, params: Iterable<readonly [string, string]>) => {
      const url = new URL(`${trimSlashes(base.href)}/${path.replace(/^\/+/, '')}`);
      for (const [name, value] of params) url.searchParams.set(name, value);
      if (version.by === 'query') url.searchParams.set(version.name as string, version.value as string);
      return url;
    },
    /** One answer, read by `parse`. If `parse` throws a transient error, the request is repeated. */
    get: async <T>(url: URL, parse: (response: HttpResponse) => T | Promise<T>, options: GetOptions = {}) => {
      const { retries = limits.retries } = options;
      for (let tries = 0; ; tries++) {
        try {
          const answer = await attempt(url, parse, options);
          if (answer.response.status < 400 || !options.askAgain || tries > 0) return answer;
          counts.retries++;
          await wait(backoffMs(tries, backoff), options.signal);
        } catch (error) {
          options.signal?.throwIfAborted();
          const failure = asTrouble(error, await isProven());
          // Slower, and not smaller, questions help.
          const isBusy = failure.code === 'SERVICE_OVERLOADED' || failure.code === 'SERVICE_RATE_LIMIT';
          const most = isBusy && retries > 0 ? limits.retries : Math.min(retries, retriesOf[failure.code] ?? retries);
          if (failure.kind === 'terminal' || tries >= most) throw failure;
          counts.retries++;
          await pause(backoffMs(tries, backoff, failure.retryAfterMs), options.signal, failure);
        }
      }
    },
  };
};

/**
 * The address under base_url of a link that a list gives. Behind a proxy, services write links with another scheme or
 * host; the path leads to the same place, and the token never leaves base_url. @throws CallsyncError LINK_REFUSED
 */
const reachable = (url: URL, base: URL): URL => {
  if (url.origin === base.origin) return url;
  const { pathname, search } = url;
  // Assigned, because a path that begins with two slashes would be read as another host.
  if (`${pathname}/`.startsWith(`${trimSlashes(base.pathname)}/`))
    return Object.assign(new URL(base), { pathname, search });
  throw terminal(
    'LINK_REFUSED',
    `The list points to another address (${url.origin}, not below the path of source.base_url); the token was not sent there.`,
  );
};

const baseAddress = ({ base_url, version }: SourceConfig): URL => {
  const base = new URL(base_url);
  base.search = '';
  base.hash = '';
  if (version.by === 'host' && version.value !== undefined) base.host = version.value;
  if (version.by === 'path' && version.value !== undefined)
    base.pathname = `${trimSlashes(base.pathname)}/${trimSlashes(version.value.replace(/^\/+/, ''))}`;
  return base;
};

/** Unless configured otherwise. A proxy may keep answers, and a comparison would prove an earlier state of the list. */
const usualHeaders = [
  ['accept', 'application/json'],
  ['content-type', 'application/json'],
  ['cache-control', 'no-cache'],
] as const;

const headersOf = (config: SourceConfig, token: string): Record<string, string> => {
  const { version } = config;
  const own = {
    ...config.headers,
    ...(version.by === 'header' && version.name !== undefined ? { [version.name]: version.value ?? '' } : {}),
    [config.auth_header]: config.auth_scheme === '' ? token : `${config.auth_scheme} ${token}`,
  };
  const given = Object.keys(own).map((name) => name.toLowerCase());
  return { ...Object.fromEntries(usualHeaders.filter(([name]) => !given.includes(name))), ...own };
};

/** A service that answered before and suddenly redirects elsewhere is having trouble: a login or maintenance page. */
const asTrouble = (error: unknown, accessProven: boolean): CallsyncError => {
  if (!(error instanceof CallsyncError)) throw error;
  if (error.code !== 'REDIRECT_REFUSED' || !accessProven) return error;
  return transient(error.code, error.message, { cause: error, hint: error.hint });
};

/** A used-up quota, which is also told by 403, needs no other token. */
const isDenied = (response: HttpResponse) => response.status === 403 && failureOf(response).code === 'ACCESS_DENIED';

/** Some services answer 403 to a token that has ended. A token as young as this has not, so few further ones are asked for. */
const youngMs = 60_000;
const mayHaveEnded = ({ requestedAt }: Awaited<ReturnType<TokenSource['get']>>): boolean =>
  performance.now() > requestedAt + youngMs;

/** A service that took our tokens before is having trouble; one that never did is saying no. */
const rejectedTwice = ({ host }: URL, accessProven: boolean): CallsyncError =>
  accessProven
    ? transient('TOKEN_REJECTED', `${host} rejects the access token (401), also a fresh one.`)
    : terminal('TOKEN_REJECTED', `${host} rejects the access token (401), also a fresh one.`);
