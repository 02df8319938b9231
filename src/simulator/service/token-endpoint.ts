/** The identity provider of interface §4.1: client credentials in, access token out. */
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import { isSameText } from '../../lib/secret.ts';
import { type Exchange, type HttpAnswer, send } from './exchange.ts';

type FormFields = Readonly<Record<string, string>>;

const parseFields = (type: string, body: Buffer): FormFields | undefined => {
  if (!type.startsWith('application/json')) return Object.fromEntries(new URLSearchParams(body.toString()));
  const value = parseQuietly(body);
  return isObject(value) ? (value as FormFields) : undefined;
};

const refusal = (status: number, error: string, error_description: string): HttpAnswer => ({
  status,
  body: { error, error_description },
});

const judge = (exchange: Exchange, fields: FormFields | undefined, secret: string): HttpAnswer | undefined => {
  const { clientId } = exchange.settings.tokens;
  if (exchange.request.method !== 'POST') return refusal(405, 'invalid_request', 'use POST');
  if (fields === undefined) return refusal(400, 'invalid_request', 'unreadable body');
  if (fields.grant_type !== 'client_credentials')
    return refusal(400, 'unsupported_grant_type', 'grant_type must be client_credentials');
  if (fields.client_id === clientId && isSameText(String(fields.client_secret ?? ''), secret)) return undefined;
  return refusal(401, 'invalid_client', 'Invalid client or Invalid client credentials');
};

/** Answers a token request; `secret` is the client's. */
export const answerTokenRequest = async (exchange: Exchange, tokens: TokenStore, secret: string) => {
  const { request, settings, counters } = exchange;
  const fields = parseFields(String(request.headers['content-type'] ?? ''), await buffer(request));
  const refused = judge(exchange, fields, secret);
  counters.tokens[refused ? 'refused' : 'issued']++;
  if (refused) return send(exchange, refused);
  const body = {
    access_token: tokens.issue(),
    token_type: 'Bearer',
    expires_in: Math.floor(settings.tokens.lifetimeSeconds),
    'not-before-policy': 0,
    scope: fields?.scope ?? '',
  };
  return send(exchange, { status: 200, headers: { 'Cache-Control': 'no-store' }, body });
};

/** Greatest age of a token that opens a WebSocket (§5.2). */
const maxAgeMs = 300_000;
type Issued = { readonly at: number; readonly expiresAt: number };

export type TokenStore = ReturnType<typeof createTokenStore>;

/** The issued tokens, until they expire. */
export const createTokenStore = (settings: SimulatorSettings) => {
  const issued = new Map<string, Issued>();
  const stateOf = (token: string, isGood: (known: Issued, now: number) => boolean) => {
    const known = issued.get(token);
    if (known === undefined) return 'unknown';
    return isGood(known, performance.now()) ? 'valid' : 'expired';
  };
  return {
    issue: (): string => {
      const token = randomBytes(24).toString('base64url');
      const at = performance.now();
      issued.set(token, { at, expiresAt: at + settings.tokens.lifetimeSeconds * 1_000 });
      return token;
    },
    /** State of a token for the call API, which accepts the token until its lifetime ends. */
    check: (token: string) => stateOf(token, ({ expiresAt }, now) => now < expiresAt),
    /** State for opening a WebSocket (§5.2): a limit on the token's age, independent of its lifetime. */
    checkAge: (token: string) => stateOf(token, ({ at }, now) => now - at <= maxAgeMs),
    /** Every token becomes unknown. */
    revoke: () => issued.clear(),
  };
};
