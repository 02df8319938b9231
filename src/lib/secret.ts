/** The one reader of secrets. A changed file takes effect without a restart. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode, terminal } from './errors.ts';
import { passable } from './new-folder.ts';

export type SecretSource = ReturnType<typeof secretOf>;

/**
 * @param key configuration key, for errors: they never hold the secret.
 * @returns undefined when neither a file nor a value is configured; a file wins over a value.
 */
export const openSecret = <F extends string | undefined>(input: {
  readonly key: string;
  readonly value?: string | undefined;
  readonly file?: F;
}): SecretSource | (F extends string ? never : undefined) => {
  const { key, value, file } = input;
  if (file === undefined && (value === undefined || value === '')) return undefined as never;
  return secretOf(file === undefined ? () => bareSecret(Buffer.from(value ?? '')) : openFile(key, file));
};

/**
 * A secret of our own: 32 random bytes as hex, made at the first start in a file that only our user may read. Processes
 * that start at once agree on one.
 * @throws CallsyncError CONFIG_SECRET
 */
export const openOwnSecret = (key: string, file: string): SecretSource => {
  try {
    if (!existsSync(file)) {
      mkdirSync(dirname(file), passable);
      writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
    }
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') {
      // A full disk takes the name without the key.
      if (existsSync(file) && statSync(file).size === 0) rmSync(file);
      const hint = `Let the user that runs callsync write the folder, make room on its disk, or set ${key}_file.`;
      throw terminal('CONFIG_SECRET', `The file of ${key} cannot be made: ${file} (${errorCode(cause)}).`, {
        hint,
        cause,
      });
    }
  }
  return secretOf(openFile(key, file));
};

/**
 * `readBytes`: bytes of the secret as `bareSecret` leaves them. `read`: the secret as it is now, without blanks around it.
 * Both throw CallsyncError CONFIG_SECRET.
 */
const secretOf = (readBytes: () => Buffer) => ({ readBytes, read: () => String(readBytes()).trim() });

const openFile = (key: string, file: string) => (): Buffer => {
  let secret: Buffer;
  try {
    secret = bareSecret(readFileSync(file));
  } catch (cause) {
    const hint = 'Correct the path, or let the user that runs callsync read the file.';
    throw terminal('CONFIG_SECRET', `The file of ${key}_file cannot be read: ${file}.`, { hint, cause });
  }
  if (secret.toString('latin1').trim() === '')
    throw terminal('CONFIG_SECRET', `The file of ${key}_file is empty: ${file}.`, {
      hint: 'Write the secret into it.',
    });
  return secret;
};

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** A secret without the byte order mark and the line ends that editors and `echo` add, in a file as in a variable. */
export const bareSecret = (bytes: Buffer): Buffer =>
  bytes.subarray(
    bytes.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0,
    bytes.findLastIndex((byte) => byte !== 0x0a && byte !== 0x0d) + 1,
  );

/** Compares in constant time. */
export const isSameText = (left: string, right: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
};
