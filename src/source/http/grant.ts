/** The client-credentials grant (interface §4.1), through openid-client. */
import * as openid from 'openid-client';
import type { SourceConfig } from '../../../schemas/config/source.ts';
import { CallsyncError, terminal, transient } from '../../lib/errors.ts';
import { parseQuietly } from '../../lib/parse-json.ts';
import type { SecretSource } from '../../lib/secret.ts';
import { trimSlashes } from '../../lib/trim-slashes.ts';
import { retryAfterOf } from './errors.ts';
import type { Http, HttpResponse } from './http.ts';

/** `expiresIn` = seconds; undefined when the response does not say. */
export type RequestGrant = (signal?: AbortSignal) => Promise<{ accessToken: string; expiresIn: number | undefined }>;

interface GrantOptions {
  readonly http: Http;
  readonly endpoint: URL;
  readonly clientId: string;
  readonly secret: SecretSource;
  readonly scope: string;
  /** The interface gives the request as a form, and the same fields as a JSON object. */
  readonly format: 'form' | 'json';
}

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

/** Builds the function that asks for one token. Errors of that function never carry the secret or the body of the answer. */
export const createGrant =
  ({ http, endpoint, clientId, secret, scope, format }: GrantOptions): RequestGrant =>
  async (signal) => {
    const clientSecret = secret.read();
    let answer: HttpResponse | undefined;
    const server = { issuer: endpoint.origin, token_endpoint: endpoint.href };
    const config = new openid.Configuration(server, clientId, undefined, openid.ClientSecretPost(clientSecret));
    if (endpoint.protocol === 'http:') openid.allowInsecureRequests(config);
    config[openid.customFetch] = async (url, { headers, body }) => {
      const form = String(body);
      answer = await http.send({
        url: new URL(url),
        method: 'POST',
        headers: {
          ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
          ...(format === 'json' ? { 'content-type': 'application/json' } : {}),
        },
        body: format === 'json' ? JSON.stringify(Object.fromEntries(new URLSearchParams(form))) : form,
        signal,
      });
      return promisedPart(answer);
    };
    try {
      const tokens = await openid.clientCredentialsGrant(config, scope === '' ? {} : { scope });
      return { accessToken: tokens.access_token, expiresIn: lifetimeOf(tokens.expires_in) };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw explainRefusal(endpoint, answer, error);
    }
  };

/**
 * Checks the answer with openid-client, without properties that the interface does not promise (§4.1). A bad
 * id_token, an unusual token_type or content type, or a lifetime as text must not stop a sync.
 */
const promisedPart = ({ status, body }: HttpResponse): Response => {
  const { access_token, expires_in, error } = Object(parseQuietly(body));
  // Read from a file, it may end in a line feed, which no header takes.
  const token: unknown = typeof access_token === 'string' ? access_token.trim() : access_token;
  const kept = { access_token: token, token_type: 'bearer', expires_in: lifetimeOf(expires_in), error };
  return new Response(JSON.stringify(kept), {
    status: status >= 200 && status <= 299 ? 200 : Math.max(400, status),
    headers: { 'content-type': 'application/json' },
  });
};

const explainRefusal = (endpoint: URL, answer: HttpResponse | undefined, cause: unknown): CallsyncError => {
  if (answer !== undefined) return explainAnswer(endpoint, answer);
  const found = cause instanceof CallsyncError || !(cause instanceof Error) ? cause : cause.cause;
  if (found instanceof CallsyncError) return found;
  return transient('TOKEN_UNAVAILABLE', `callsync cannot request a token from ${endpoint.host}.`);
};

const explainAnswer = ({ host, protocol }: URL, answer: HttpResponse): CallsyncError => {
  const { status, body } = answer;
  const reason = errorCode(Object(parseQuietly(body)).error) ?? '';
  const said = reason === '' ? `status ${status}` : `status ${status}, ${reason}`;
  const step = nextSteps.get(reason);
  if (status >= 500 || [408, 429].includes(status) || /server_error|temporarily_unavailable/.test(reason))
    return transient('TOKEN_UNAVAILABLE', `The token endpoint ${host} is not available (${said}).`, {
      retryAfterMs: retryAfterOf(answer),
    });
  if (Math.floor(status / 100) === 2 && step === undefined)
    return transient('TOKEN_MALFORMED', `The token endpoint ${host} answered without an access_token.`);
  if ([404, 405].includes(status))
    return terminal('TOKEN_ENDPOINT_MISSING', `There is no token endpoint at ${host} for that realm (${said}).`);
  if (status === 415 || (status === 400 && step === undefined))
    return terminal('TOKEN_FORM_REFUSED', `The identity provider ${host} refused the request (${said}).`);
  const isPlain = protocol === 'http:' && status === 403;
  return terminal('TOKEN_REFUSED', `The identity provider ${host} refused to issue a token (${said}).`, {
    hint: `${isPlain ? httpsStep : (step ?? credentialsStep)} Then run callsync doctor.`,
  });
};

const credentialsStep = 'Compare source.client_id and source.client_secret with your account manager.';
const httpsStep = 'Use https in source.auth_url or source.token_url; the identity provider may refuse plain HTTP.';

/** By the OAuth error codes (RFC 6749 §5.2) that say the request was understood. */
const nextSteps = new Map([
  ['invalid_client', `${credentialsStep} Ask whether the client is enabled, and takes client_secret_post.`],
  ['unauthorized_client', `${credentialsStep} Ask whether it may use client credentials (Keycloak: service accounts).`],
  ['invalid_scope', 'Correct source.scope, or empty it.'],
  ['unsupported_grant_type', 'Correct source.token_url; this endpoint has no client-credentials grant.'],
  ['access_denied', 'Ask the account manager whether this client and this IP address may request tokens.'],
]);

/** Only the registered look of an OAuth error code is repeated: free text may hold anything. */
const errorCode = (value: unknown) => (typeof value === 'string' && /^[a-z_]{3,40}$/.test(value) ? value : undefined);

/** A lifetime in seconds; undefined for anything else, such as a date, or the seconds and milliseconds of one. */
const lifetimeOf = (value: unknown): number | undefined => {
  const seconds = Number(value);
  return seconds > 0 && seconds < 1e9 ? seconds : undefined;
};
