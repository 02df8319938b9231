/** The client-credentials grant (interface §4.1, RFC 6749 §4.4). */
import type { SourceConfig } from '../../../schemas/config/source.ts';
import { type CallsyncError, terminal, transient } from '../../lib/errors.ts';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import type { SecretSource } from '../../lib/secret.ts';
import { trimSlashes } from '../../lib/trim-slashes.ts';
import type { Http, HttpResponse } from './http.ts';
import { retryAfterOf } from './service-failure.ts';

interface Grant {
  readonly accessToken: string;
  /** Seconds; undefined when the response does not say. */
  readonly expiresIn: number | undefined;
}

export type RequestGrant = (signal?: AbortSignal) => Promise<Grant>;

/** Address of the token endpoint: the configured one, else {auth_url}/realms/<realm>/protocol/openid-connect/token. */
export const tokenEndpoint = (config: Pick<SourceConfig, 'auth_url' | 'realm' | 'token_url'>): URL => {
  if (config.token_url !== undefined) return new URL(config.token_url);
  if (config.auth_url === undefined || config.realm === undefined)
    throw terminal('CONFIG_INVALID', 'source.auth_url and source.realm are needed to ask for a token.', {
      hint: 'Set both, or source.token_url, or a fixed source.token.',
    });
  return new URL(
    `${trimSlashes(config.auth_url)}/realms/${encodeURIComponent(config.realm)}/protocol/openid-connect/token`,
  );
};

/**
 * Builds the function that asks for one token. Its errors never carry the secret or the body of the answer. Of an answer, only the
 * properties that the interface promises count (§4.1): an id_token or a token_type of any kind stops no sync.
 * @param options.format the interface gives the request as a form, and the same fields as a JSON object
 */
export const createGrant =
  (options: {
    readonly http: Http;
    readonly endpoint: URL;
    readonly clientId: string;
    readonly secret: SecretSource;
    readonly scope: string;
    readonly format: 'form' | 'json';
  }): RequestGrant =>
  async (signal) => {
    const { http, endpoint, clientId, secret, scope, format } = options;
    const fields = {
      ...{ grant_type: 'client_credentials', client_id: clientId, client_secret: secret.read() },
      ...(scope === '' ? {} : { scope }),
    };
    const answer = await http.send({
      url: endpoint,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded;charset=UTF-8',
      },
      body: format === 'json' ? JSON.stringify(fields) : new URLSearchParams(fields).toString(),
      signal,
    });
    const { access_token: accessToken, expires_in } = parseObject(answer.body) ?? {};
    const isGood =
      answer.status >= 200 && answer.status <= 299 && typeof accessToken === 'string' && accessToken !== '';
    if (!isGood) throw explainRefusal(endpoint, answer);
    return { accessToken, expiresIn: positive(expires_in) };
  };

const explainRefusal = (endpoint: URL, answer: HttpResponse): CallsyncError => {
  const reason = errorCode(parseObject(answer.body)?.error);
  const said = reason === undefined ? `status ${answer.status}` : `status ${answer.status}, ${reason}`;
  if (answer.status >= 200 && answer.status <= 299)
    return transient('TOKEN_MALFORMED', `The token endpoint ${endpoint.host} answered without an access_token.`, {
      hint: 'Correct source.auth_url and source.realm (a login page or a proxy may answer), then run callsync doctor.',
    });
  if (answer.status === 429 || answer.status === 408 || answer.status >= 500) {
    const retryAfterMs = retryAfterOf(answer);
    return transient('TOKEN_UNAVAILABLE', `The token endpoint ${endpoint.host} is not available (${said}).`, {
      retryAfterMs,
    });
  }
  if (answer.status === 404 || answer.status === 405)
    return terminal(
      'TOKEN_ENDPOINT_MISSING',
      `There is no token endpoint at ${endpoint.host} for that realm (${said}).`,
      { hint: 'Correct source.auth_url and source.realm, then run callsync doctor.' },
    );
  const isAboutForm = answer.status === 415 || (answer.status === 400 && !aboutClient.test(reason ?? ''));
  if (isAboutForm)
    return terminal('TOKEN_FORM_REFUSED', `The identity provider ${endpoint.host} refused the request (${said}).`, {
      hint: 'Try the other source.token_format (`callsync doctor` does), and check source.scope.',
    });
  return terminal('TOKEN_REFUSED', `The identity provider ${endpoint.host} refused the credentials (${said}).`, {
    hint: 'Compare source.client_id and source.client_secret with your account manager, then run callsync doctor.',
  });
};

/** OAuth error codes (RFC 6749 §5.2) that say the request was understood. */
const aboutClient = /^(invalid_client|unauthorized_client|invalid_scope|access_denied)$/;

const parseObject = (body: Buffer): Record<string, unknown> | undefined => {
  const value = parseQuietly(body);
  return isObject(value) ? value : undefined;
};

/** Only the registered look of an OAuth error code is repeated: free text may hold anything. */
const errorCode = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[a-z_]{3,40}$/.test(value) ? value : undefined;

const positive = (value: unknown): number | undefined => {
  const seconds = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
};
