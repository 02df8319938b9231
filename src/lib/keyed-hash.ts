/** HMAC-SHA-256 of many short texts under one key, and PostgreSQL's form of passwords. */
import { createHash, createHmac, hash, pbkdf2Sync, randomBytes } from 'node:crypto';

const rounds = 4096;

/**
 * Verifier that PostgreSQL stores for a password (SCRAM-SHA-256). Sending it keeps the password out of statements and
 * server logs. ASCII passwords only, because others need normalisation.
 */
export const scramVerifier = (password: string): string => {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, rounds, 32, 'sha256');
  const keyOf = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${rounds}:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`;
};

const blockLength = 64;
const hashLength = 32;
/** Longer texts are rare. */
const longest = 512;
const mostBytes = 3;

/**
 * HMAC as RFC 2104 has it, of two hashes: an object of `createHmac` for each text takes several times as long.
 * @returns hex.
 */
export const createKeyedHash = (key: Uint8Array): ((text: string) => string) => {
  const block = Buffer.alloc(blockLength);
  block.set(key.length > blockLength ? hash('sha256', key, 'buffer') : key);
  const inner = Buffer.concat([block.map((byte) => byte ^ 0x36), Buffer.alloc(longest * mostBytes)]);
  const outer = Buffer.concat([block.map((byte) => byte ^ 0x5c), Buffer.alloc(hashLength)]);
  return (text) => {
    if (text.length > longest) return createHmac('sha256', key).update(text).digest('hex');
    const end = blockLength + inner.write(text, blockLength, 'utf8');
    outer.write(hash('sha256', inner.subarray(0, end), 'hex'), blockLength, 'hex');
    return hash('sha256', outer, 'hex');
  };
};

/** Distinguishes keys, and reveals no key that has 16 random bytes. */
export const fingerprintOf = (key: Uint8Array): string => createKeyedHash(key)('callsync fingerprint').slice(0, 16);
