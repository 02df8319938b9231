/** Secrets are read when they are needed, so that a changed file takes effect without a restart. */
import { readFile } from 'node:fs/promises';
import { terminal } from '../../errors.ts';

export interface SecretSource {
  read(): Promise<string>;
}

/** @param name the config key, for the error text. */
export const secretFrom = (
  name: string,
  value: string | undefined,
  file: string | undefined,
): SecretSource | undefined => {
  if (file !== undefined) return { read: () => readSecretFile(name, file) };
  if (value !== undefined && value !== '') return { read: async () => value };
  return undefined;
};

const readSecretFile = async (name: string, file: string): Promise<string> => {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw terminal('SECRET_UNREADABLE', `The file of ${name} (${file}) cannot be read.`, {
      cause: error,
      hint: 'Create it, readable by the account that runs callsync.',
    });
  }
  const secret = text.trim();
  if (secret === '')
    throw terminal('SECRET_EMPTY', `The file of ${name} (${file}) is empty.`, { hint: 'Write the secret into it.' });
  return secret;
};
