/** Keys of the proof chain: with write access to the store but without a key, nobody can rewrite a verdict unnoticed. */
import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto';
import { terminal } from '../../lib/errors.ts';
import type { ProofKeys } from '../store.ts';

/** What precedes the 32 bytes of an Ed25519 key in its DER form (RFC 8410). */
const derPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** From the secret, so that an installation has no other to keep. */
const openKeyOf = (secret: Buffer): KeyObject => {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'callsync receipts', 32));
  return createPrivateKey({ key: Buffer.concat([derPrefix, seed]), format: 'der', type: 'pkcs8' });
};

const shortest = 16;

/**
 * @param secrets the current key first, then former ones, which only verify; at least 16 bytes each.
 * @throws CallsyncError PROOF_KEY for a key that is too short to protect anything.
 */
export const createProofKeys = (current: Buffer, ...former: readonly Buffer[]): ProofKeys => {
  for (const secret of [current, ...former]) {
    if (secret.length >= shortest) continue;
    throw terminal('PROOF_KEY', `A key of the proof chain has fewer than ${shortest} bytes.`, {
      hint: 'Write a long random secret into the file of store.proof_key_file, such as the output of openssl rand -hex 32.',
    });
  }
  const byId = new Map([current, ...former].map((secret) => [keyIdOf(secret), secret]));
  return {
    currentId: keyIdOf(current),
    sign: (keyId, text) => {
      const secret = byId.get(keyId);
      return secret === undefined ? undefined : createHmac('sha256', secret).update(text).digest('hex');
    },
    signOpenly: (keyId, text) => {
      const secret = byId.get(keyId);
      return secret === undefined ? undefined : sign(null, Buffer.from(text), openKeyOf(secret)).toString('hex');
    },
    publicKey: createPublicKey(openKeyOf(current)).export({ format: 'pem', type: 'spki' }).toString(),
  };
};

/** The first 16 hex digits of the key's SHA-256: tells keys apart and gives none away. */
const keyIdOf = (secret: Buffer): string => createHash('sha256').update(secret).digest('hex').slice(0, 16);
