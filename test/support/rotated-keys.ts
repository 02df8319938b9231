/** Privacy rules under keys of tokens: under one, or under keys that were changed, each of the bytes of its own name. */
import { generateKeyPairSync } from 'node:crypto';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { createPrivacy, type Privacy } from '../../src/privacy/privacy.ts';

/** A pair of keys that seal what no rule can read, and open it. */
export const makeSealingKeys = () => {
  const { publicKey, privateKey } = generateKeyPairSync('x25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { publicKey: Buffer.from(publicKey), privateKey: Buffer.from(privateKey) };
};

/** Rules that drop what they cannot read; @param byte of which the key is made */
export const openPrivacy = (settings: object = { profile: 'pseudonymous' }, byte = 7): Privacy =>
  createPrivacy(privacyConfigSchema.parse({ unreadable: 'drop', ...settings }), {
    token: Buffer.alloc(32, byte),
    seal: undefined,
  });

/** @param former keys before it, by which what is stored under them is known. */
export const privacyUnder = (keyId: string, ...former: readonly string[]): Privacy =>
  privacyWith(keyId, Buffer.alloc(32, keyId), ...former);

export const privacyWith = (keyId: string, token: Buffer, ...former: readonly string[]): Privacy =>
  createPrivacy(
    privacyConfigSchema.parse({
      profile: 'pseudonymous',
      unreadable: 'drop',
      key_id: keyId,
      former_keys: former.map((id) => ({ id, file: `${id}.key` })),
    }),
    { token, former: former.map((id) => Buffer.alloc(32, id)), seal: undefined },
  );

/** A first key, and the two after it. */
export const rotatedKeys = [privacyUnder('k1'), privacyUnder('k2', 'k1'), privacyUnder('k3', 'k1', 'k2')] as const;
