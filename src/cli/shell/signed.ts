/** Commands that check a signed file with the public key alone. */
import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { terminal } from '../../lib/errors.ts';
import { option, required } from './define.ts';

export const publicKeyOption = required(
  option('--public-key <file>', 'file with the output of callsync privacy public-key'),
);

/** The bytes of the file, and the key. @throws CallsyncError USAGE_RECEIPT */
export const readSigned = async (what: 'receipt' | 'report', file: string, keyFile: string) => {
  const [bytes, pem] = await Promise.all([readFile(file), readFile(keyFile, 'utf8')]).catch((cause) => {
    throw terminal('USAGE_RECEIPT', `The ${what} or the public key cannot be read.`, { cause });
  });
  try {
    const key = createPublicKey(pem);
    // Other keys verify nothing, or fail in another way.
    if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('not an Ed25519 key');
    return { bytes, key };
  } catch (cause) {
    throw terminal('USAGE_RECEIPT', 'The public key is not an Ed25519 key in PEM format.', { cause });
  }
};
