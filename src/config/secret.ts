/** A secret from a file or from the configuration itself; a changed file is taken up without a restart. */
import { readFileSync, statSync } from 'node:fs';
import { terminal } from '../errors.ts';

export interface SecretSource {
  /** The secret as it is now. Throws a `CallsyncError` when its file is gone or empty. */
  read(): string;
}

/** @param key configuration key, for errors: they never hold the secret. */
export const openSecret = (input: {
  key: string;
  value?: string | undefined;
  file?: string | undefined;
}): SecretSource | undefined => {
  const { key, value, file } = input;
  if (file === undefined) return value === undefined ? undefined : { read: () => value };
  let seen = '';
  let secret = '';
  return {
    read() {
      try {
        const { mtimeMs, ino, size } = statSync(file);
        const state = `${mtimeMs} ${ino} ${size}`;
        if (state !== seen) {
          secret = readFileSync(file, 'utf8').trim();
          seen = state;
        }
      } catch (cause) {
        throw terminal('CONFIG_SECRET', `The file of ${key}_file cannot be read: ${file}.`, {
          hint: 'Correct the path, or let the user that runs callsync read the file.',
          cause,
        });
      }
      if (secret === '') throw terminal('CONFIG_SECRET', `The file of ${key}_file is empty: ${file}.`);
      return secret;
    },
  };
};
