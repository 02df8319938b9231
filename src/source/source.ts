/** Puts the parts of a source together: tokens, requests, list. */
import type { SourceConfig } from '../../schemas/config/source.ts';
import { CallsyncError, terminal } from '../lib/errors.ts';
import type { Memory } from '../lib/evidence.ts';
import { openSecret } from '../lib/secret.ts';
import type { Pause } from '../lib/timing.ts';
import { createApi } from './http/api.ts';
import { createGrant, tokenEndpoint } from './http/grant.ts';
import { createHttp, createServiceClock, type Http, refusePlainHttp } from './http/http.ts';
import { createLocalRequestLimiter, type RequestLimiter } from './http/limiter.ts';
import { createFixedTokenSource, createTokenSource, type TokenSource } from './http/tokens.ts';
import type { KeptFacts } from './list/facts.ts';
import { createListClient } from './list/list-client.ts';

export type Source = ReturnType<typeof createSource>;

interface SourceDeps {
  /** The limiter that all workers share; without it, one of this process alone. */
  readonly limiter?: RequestLimiter | undefined;
  readonly proof?: Memory<true> | undefined;
  /** Where facts about the list outlive this process. */
  readonly facts?: Memory<KeptFacts> | undefined;
  /** Milliseconds that the service's clock may be ahead of ours. */
  readonly clockSkewMs?: number;
  readonly pause?: Pause | undefined;
}

/** A Date header counts this far ahead, or as far as the configured skew if that is more. */
const leastClockSkewMs = 15 * 60_000;

/**
 * Opens the service; callsync sends nothing before the first request.
 * @throws CallsyncError CONFIG_INVALID without credentials
 */
export const createSource = (config: SourceConfig, deps: SourceDeps = {}) => {
  const http = createHttp(config.limits);
  const tokens = tokensFor(config, http, deps.pause);
  const clock = createServiceClock(Math.max(leastClockSkewMs, deps.clockSkewMs ?? 0));
  const limiter = deps.limiter ?? createLocalRequestLimiter(requestLimitRules(config));
  const api = createApi({ config, http, tokens, limiter, clock, proof: deps.proof, pause: deps.pause });
  return {
    config,
    list: createListClient(api, config.list, deps.facts),
    api,
    tokens,
    clock,
    close: () => http.close(),
  };
};

/**
 * The request limit as configured (`source.limits`): requests in a time in milliseconds, and how many of them are kept for
 * live work.
 */
export const requestLimitRules = ({ limits }: SourceConfig): Parameters<typeof createLocalRequestLimiter>[0] => ({
  requests: limits.requests,
  perMs: limits.per_s * 1000,
  live: Math.min(limits.requests - 1, Math.ceil(limits.requests * limits.live_share)),
});

/**
 * Form of the token request: the configured one, or the other form of the interface (§4.1) after a 400 or 415.
 * @throws CallsyncError of the configured form if both are refused.
 */
export const findTokenFormat = async (config: SourceConfig, signal?: AbortSignal) => {
  const other = config.token_format === 'form' ? 'json' : 'form';
  const http = createHttp(config.limits);
  try {
    await tokensFor(config, http).get(signal);
    return config.token_format;
  } catch (error) {
    if (!(error instanceof CallsyncError) || error.code !== 'TOKEN_FORM_REFUSED') throw error;
    const asked = tokensFor({ ...config, token_format: other }, http).get(signal);
    if ((await asked.catch(() => undefined)) === undefined) throw error;
    return other;
  } finally {
    await http.close();
  }
};

/** Tokens as configured: a fixed one, or by the client-credentials grant. */
const tokensFor = (config: SourceConfig, http: Http, pause?: Pause): TokenSource => {
  const fixed = openSecret({ key: 'source.token', value: config.token, file: config.token_file });
  if (fixed !== undefined) return createFixedTokenSource(fixed);
  const { client_id: clientId, client_secret: value, client_secret_file: file, scope, token_format: format } = config;
  const secret = openSecret({ key: 'source.client_secret', value, file });
  if (clientId === undefined || secret === undefined)
    throw terminal('CONFIG_INVALID', 'source.client_id and source.client_secret (or client_secret_file) are needed.', {
      hint: 'Your account manager issues them; callsync init asks for them.',
    });
  const endpoint = tokenEndpoint(config);
  refusePlainHttp(endpoint, config.token_url === undefined ? 'source.auth_url' : 'source.token_url', config);
  const grant = createGrant({ http, endpoint, clientId, secret, scope, format });
  const { retry_base_ms, retry_max_ms } = config.limits;
  return createTokenSource(grant, {
    pause,
    assumedLifetimeMs: config.token_lifetime_s * 1000,
    // All requests wait for a token, so callsync retries it sooner than other requests.
    backoff: { baseMs: Math.min(250, retry_base_ms), maxMs: retry_max_ms },
  });
};
