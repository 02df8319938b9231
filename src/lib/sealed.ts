/**
 * Bytes that only the holder of a private key can read (X25519, HKDF-SHA-256, AES-256-GCM): `CSX1` · ephemeral public key (32)
 * · authentication tag (16) · ciphertext. The key of each is its own, so the nonce is constant.
 */
import * as crypto from 'node:crypto';
import { terminal } from './errors.ts';

const magic = Buffer.from('CSX1');
const keyBytes = 32;
const tagBytes = 16;
const headBytes = magic.length + keyBytes + tagBytes;
const nonce = Buffer.alloc(12);
/** Bytes before the 32 bytes of an X25519 key in its DER form (RFC 8410). */
const derPrefix = Buffer.from('302a300506032b656e032100', 'hex');

const der = { format: 'der', type: 'spki' } as const;

/** Why a sealed record waits in quarantine. */
export const sealedReason = 'sealed on arrival, because callsync cannot parse it; replay it with --key-file';

/** Whether bytes begin as `seal` makes them. */
export const isSealed = (bytes: Buffer) => bytes.length >= headBytes && bytes.subarray(0, magic.length).equals(magic);

const rawOf = (key: crypto.KeyObject): Buffer => key.export(der).subarray(derPrefix.length);

const deriveKey = (privateKey: crypto.KeyObject, publicKey: crypto.KeyObject, ephemeral: Buffer, recipient: Buffer) => {
  const shared = crypto.diffieHellman({ privateKey, publicKey });
  return Buffer.from(crypto.hkdfSync('sha256', shared, Buffer.concat([ephemeral, recipient]), 'callsync seal', 32));
};

const parseKey = (read: () => crypto.KeyObject, what: string): crypto.KeyObject => {
  try {
    const key = read();
    if (key.asymmetricKeyType === 'x25519') return key;
  } catch {
    // Not passed on as a cause, because it may hold a part of the key.
  }
  throw terminal('SEAL_KEY', `The ${what} key is not an X25519 key in PEM.`);
};

/** @param pem public key. @throws CallsyncError SEAL_KEY */
export const createSealer = (pem: Buffer): ((bytes: Buffer) => Buffer) => {
  const recipient = parseKey(() => crypto.createPublicKey(pem), 'public');
  return (bytes) => {
    const { publicKey, privateKey } = crypto.generateKeyPairSync('x25519');
    const ephemeral = rawOf(publicKey);
    const key = deriveKey(privateKey, recipient, ephemeral, rawOf(recipient));
    const cipher = crypto.createCipheriv('aes-256-gcm', key, nonce);
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return Buffer.concat([magic, ephemeral, cipher.getAuthTag(), sealed]);
  };
};

/** @param pem private key. @returns the bytes, or undefined when they were sealed for another key or changed. @throws CallsyncError SEAL_KEY */
export const createOpener = (pem: Buffer): ((sealed: Buffer) => Buffer | undefined) => {
  const own = parseKey(() => crypto.createPrivateKey(pem), 'private');
  const recipient = rawOf(crypto.createPublicKey(own));
  return (sealed) => {
    const ephemeral = sealed.subarray(magic.length, magic.length + keyBytes);
    const tag = sealed.subarray(magic.length + keyBytes, headBytes);
    try {
      const sender = crypto.createPublicKey({ key: Buffer.concat([derPrefix, ephemeral]), ...der });
      const decipher = crypto.createDecipheriv('aes-256-gcm', deriveKey(own, sender, ephemeral, recipient), nonce);
      decipher.setAuthTag(tag);
      return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]);
    } catch {
      return undefined;
    }
  };
};
