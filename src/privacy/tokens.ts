/** Tokens that stand for a value: the same value has the same token wherever it occurs, and only the key's owner can make them. */
import { createKeyedHash, fingerprintOf } from '../lib/keyed-hash.ts';
import type { JoinedDetector } from './finding.ts';

/** Values of one kind are joined with each other only. */
export type TokenKind = JoinedDetector | 'text';

export interface TokenKey {
  /** Part of each token: lower-case letters and digits. */
  readonly id: string;
  readonly bytes: Buffer;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 without padding, in lower case. */
const base32 = (bytes: Buffer): string => {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      text += alphabet[(value >>> (bits - 5)) & 31];
      bits -= 5;
    }
    value &= (1 << bits) - 1;
  }
  return bits > 0 ? text + alphabet[(value << (5 - bits)) & 31] : text;
};

const keyedHashes = new WeakMap<TokenKey, (text: string) => string>();

/** `ph_<key id>_<base32 of HMAC-SHA-256(key, kind ‖ 0 ‖ value)>`. @param value normalised by its kind. */
export const makeToken = (key: TokenKey, kind: TokenKind, value: string): string => {
  const keyedHash = keyedHashes.get(key) ?? createKeyedHash(key.bytes);
  keyedHashes.set(key, keyedHash);
  return `ph_${key.id}_${base32(Buffer.from(keyedHash(`${kind}\0${value}`), 'hex'))}`;
};

/** What is a token already is not tokenised again. */
export const isToken = (text: string): boolean => /^ph_[a-z0-9]+_[a-z2-7]{52}$/.test(text);

/** @param token as `isToken` has it. */
export const keyIdOf = (token: string): string => token.slice(3, token.lastIndexOf('_'));

/** Says which key made tokens, and gives nothing of it away: its id and its fingerprint. */
export const markOf = ({ id, bytes }: TokenKey): string => `${id}.${fingerprintOf(bytes)}`;
