/** Tokens that stand for a value: the same value has the same token wherever it occurs, and only the key's owner can make them. */

import { createKeyedHash, fingerprintOf } from '../lib/keyed-hash.ts';
import { isObject } from '../lib/parse-json.ts';
import type { JoinedDetector } from './finding.ts';

/** Values of one kind are joined with each other only. */
type TokenKind = JoinedDetector | 'text';

interface TokenKey {
  /** Part of each token: lower-case letters and digits. */
  readonly id: string;
  readonly bytes: Uint8Array;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 without padding, in lower case. @param hex 256 bits, to which four zeros are added. */
const base32 = (hex: string): string =>
  BigInt(`0x${hex}0`)
    .toString(32)
    .padStart(52, '0')
    .replaceAll(/./g, (digit) => alphabet.charAt(Number.parseInt(digit, 32)));

const keyedHashes = new WeakMap<TokenKey, (text: string) => string>();

const hashOf = (key: TokenKey, text: string): string => {
  const keyedHash = keyedHashes.get(key) ?? createKeyedHash(key.bytes);
  keyedHashes.set(key, keyedHash);
  return keyedHash(text);
};

/** A short hash of a value under each key. */
export const shortHashes = (keys: TokenKeys, value: string): readonly string[] =>
  keys.map((key) => hashOf(key, `known\0${value}`).slice(0, 12));

/** `ph_<key id>_<base32 of HMAC-SHA-256(key, kind ‖ 0 ‖ value)>`. @param value normalised by its kind. */
const makeToken = (key: TokenKey, kind: TokenKind, value: string): string =>
  `ph_${key.id}_${base32(hashOf(key, `${kind}\0${value}`))}`;

/** Tokens within a text. */
export const tokens = /(?<![a-z\d])ph_[a-z\d]+_[a-z2-7]{52}(?![a-z\d])/g;
/** Existing tokens stay. */
export const isToken = (text: string): boolean => text !== '' && text.replaceAll(tokens, '') === '';

/** Says which key made tokens, and gives nothing of it away: its id and its fingerprint. */
export const markOf = ({ id, bytes }: TokenKey): string => `${id}.${fingerprintOf(bytes)}`;

/** Every token of one value, first under the present key, then under the former keys. */
export type Tokens = readonly [string, ...string[]];

/** The present key, then those before it, the oldest first. */
export type TokenKeys = readonly [TokenKey, ...TokenKey[]];

/**
 * Token of a former key → that of the present one. Only code that knows the value can make these pairs, so they travel
 * with the record to the code that stores it.
 */
export type Aliases = Map<string, string>;

/** Carries aliases in the body of a delivery, from receiver to worker; no document ever has it. */
export const aliasField = 'callsync:token_aliases';

/** A value as it joins: nobody hears O from zero in an IBAN. */
export const joinedValue = (kind: TokenKind, value: string) => (kind === 'iban' ? value.replaceAll('O', '0') : value);

export const makeTokens = ([present, ...former]: TokenKeys, kind: TokenKind, value: string): Tokens => [
  makeToken(present, kind, joinedValue(kind, value)),
  ...former.map((key) => makeToken(key, kind, joinedValue(kind, value))),
];

/** Collects pairs of tokens of our keys from a body, and ignores the sender's other values. */
export const takeAliases = (carried: unknown, keys: TokenKeys, aliases: Aliases): void => {
  const keyOf = (token: unknown): TokenKey | undefined =>
    typeof token === 'string' && isToken(token) ? keys.find(({ id }) => token.startsWith(`ph_${id}_`)) : undefined;
  for (const [old, token] of Object.entries(isObject(carried) ? carried : {})) {
    const [from, to] = [keyOf(old), keyOf(token)];
    if (from !== undefined && to !== undefined && from !== to) aliases.set(old, String(token));
  }
};
