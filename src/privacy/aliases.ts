/**
 * Aliases: the token that a former key made of a value → the one of the present key. They can be made only where the value is
 * known, so they travel with the record to where they are stored.
 */
import { isObject } from '../calls/field-reader.ts';
import { isToken, keyIdOf, makeToken, type TokenKey, type TokenKind } from './tokens.ts';

/** The keys before the present one, the oldest first. */
export interface FormerKeys {
  readonly keys: readonly TokenKey[];
  /** Former token → present one, of the record that is being looked at: one at a time. */
  readonly found: Map<string, string>;
}

interface Keys {
  readonly key: TokenKey;
  readonly former?: FormerKeys | undefined;
}

/** Every token of one value: that of the present key, then those of the former ones. */
export type Tokens = readonly [string, ...string[]];

/** Carries aliases in the body of a delivery, from receiver to worker; no document ever has it. */
export const aliasField = 'callsync:token_aliases';

export const makeTokens = ({ key, former }: Keys, kind: TokenKind, value: string): Tokens => [
  makeToken(key, kind, value),
  ...(former?.keys ?? []).map((one) => makeToken(one, kind, value)),
];

/** The present token, with the others noted as its aliases. */
export const noteTokens = ([token, ...others]: Tokens, { former }: Keys): string => {
  for (const one of others) former?.found.set(one, token);
  return token;
};

/** Notes what a body carried: pairs of tokens of our keys, and nothing else of whatever a sender put there. */
export const takeAliases = (carried: unknown, { key, former }: Keys): void => {
  if (former === undefined || !isObject(carried)) return;
  const ids = new Set([key, ...former.keys].map(({ id }) => id));
  const isOurs = (token: unknown): token is string =>
    typeof token === 'string' && isToken(token) && ids.has(keyIdOf(token));
  for (const [old, token] of Object.entries(carried)) {
    if (isOurs(old) && isOurs(token) && keyIdOf(old) !== keyIdOf(token)) former.found.set(old, token);
  }
};

/** What a body carries of the record that was looked at last; undefined where it has no aliases. */
export const aliasesFound = ({ former }: Keys): ReadonlyMap<string, string> | undefined =>
  former === undefined || former.found.size === 0 ? undefined : new Map(former.found);
