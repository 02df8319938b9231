/** The client-credentials grant (interface §4.1), through openid-client. */
import * as openid from 'openid-client';
import type { SourceConfig } from '../../../schemas/config/source.ts';
import { CallsyncError, terminal, transient } from '../../errors.ts';
import type { SecretSource } from '../../secret.ts';
import type { Http, HttpResponse } from './http.ts';
import { readRetryAfter } from './retry-after.ts';

export interface Grant {
  readonly accessToken: string;
  /** Seconds; undefined when the response does not say. */
  readonly expiresIn: number | undefined;
}

export type RequestGrant = (signal?: AbortSignal) => Promise<Grant>;

/** Address of the token endpoint: the configured one, else {auth_url}/realms/<realm>/protocol/openid-connect/token. */
export const tokenEndpoint = (config: Pick<SourceConfig, 'auth_url' | 'realm' | 'token_url'>): URL => {
  if (config.token_url !== undefined) return new URL(config.token_url);
  if (config.auth_url === undefined || config.realm === undefined) {
    throw terminal('CONFIG_INVALID', 'source.auth_url and source.realm are needed to ask for a token.', {
      hint: 'Set both, or source.token_url, or a fixed source.token.',
    });
  }
  return new URL(
    `${config.auth_url.replace(/\/+$/, '')}/realms/${encodeURIComponent(config.realm)}/protocol/openid-connect/token`,
  );
};

export interface GrantDeps {
  readonly http: Http;
  readonly endpoint: URL;
  readonly clientId: string;
  readonly secret: SecretSource;
  readonly scope: string;
}

/** Builds the function that asks for one token. Its errors never carry the secret or the body of the answer. */
export const createGrant = ({ http, endpoint, clientId, secret, scope }: GrantDeps): RequestGrant => {
  if (endpoint.protocol === 'http:' && !isLoopback(endpoint.hostname)) {
    throw terminal(
      'TOKEN_INSECURE',
      `The token endpoint ${endpoint.host} is not reached over https, so the client secret would be readable.`,
      {
        hint: 'Use an https address in source.auth_url.',
      },
    );
  }
  return async (signal) => {
    const clientSecret = secret.read();
    let answer: HttpResponse | undefined;
    const config = new openid.Configuration(
      { issuer: endpoint.origin, token_endpoint: endpoint.href },
      clientId,
      undefined,
      openid.ClientSecretPost(clientSecret),
    );
    if (endpoint.protocol === 'http:') openid.allowInsecureRequests(config);
    config[openid.customFetch] = async (url, options) => {
      answer = await http.send({
        url: new URL(url),
        method: 'POST',
        headers: Object.fromEntries(
          Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value]),
        ),
        body: String(options.body),
        signal,
      });
      return onlyTheAccessToken(answer);
    };
    try {
      const tokens = await openid.clientCredentialsGrant(config, scope === '' ? {} : { scope });
      return { accessToken: tokens.access_token, expiresIn: positive(tokens.expires_in) };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw explainRefusal(endpoint, answer, error);
    }
  };
};

/**
 * What openid-client gets to see of a good answer: the interface promises nothing but `access_token`, and an id_token
 * that would fail a check, a missing token_type or a strange content type must not stop a sync.
 */
const onlyTheAccessToken = (answer: HttpResponse): Response => {
  const fields = parseObject(answer.body);
  const token = fields?.access_token;
  if (answer.status < 200 || answer.status > 299 || typeof token !== 'string' || token === '') {
    return new Response(JSON.stringify({ error: 'invalid_response' }), {
      status: 400,
      headers: { 'content-type': 'application/json' },
    });
  }
  const expiresIn = positive(fields?.expires_in);
  const kept = {
    access_token: token,
    token_type: 'bearer',
    ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
  };
  return new Response(JSON.stringify(kept), { status: 200, headers: { 'content-type': 'application/json' } });
};

const explainRefusal = (endpoint: URL, answer: HttpResponse | undefined, cause: unknown): CallsyncError => {
  if (answer === undefined) {
    const found = cause instanceof CallsyncError ? cause : cause instanceof Error ? cause.cause : undefined;
    if (found instanceof CallsyncError) return found;
    return transient('TOKEN_UNAVAILABLE', `The token could not be requested from ${endpoint.host}.`);
  }
  const reason = errorCode(parseObject(answer.body)?.error);
  const said = reason === undefined ? `status ${answer.status}` : `status ${answer.status}, ${reason}`;
  if (answer.status >= 200 && answer.status <= 299) {
    return transient('TOKEN_MALFORMED', `The token endpoint ${endpoint.host} answered without an access_token.`, {
      hint: 'Check source.auth_url and source.realm; a login page or a proxy may be answering.',
    });
  }
  if (answer.status === 429 || answer.status === 408 || answer.status >= 500) {
    const retryAfterMs = readRetryAfter(answer.headers['retry-after'], Date.now());
    return transient('TOKEN_UNAVAILABLE', `The token endpoint ${endpoint.host} is not available (${said}).`, {
      retryAfterMs,
    });
  }
  if (answer.status === 404 || answer.status === 405) {
    return terminal(
      'TOKEN_ENDPOINT_MISSING',
      `There is no token endpoint at ${endpoint.host} for that realm (${said}).`,
      {
        hint: 'Check source.auth_url and source.realm.',
      },
    );
  }
  return terminal('TOKEN_REFUSED', `The identity provider ${endpoint.host} refused the credentials (${said}).`, {
    hint: 'Check source.client_id and source.client_secret with your account manager.',
  });
};

const parseObject = (body: Buffer): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};

/** Only the registered look of an OAuth error code is repeated: free text may hold anything. */
const errorCode = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[a-z_]{3,40}$/.test(value) ? value : undefined;

const positive = (value: unknown): number | undefined => {
  const seconds = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
};

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
