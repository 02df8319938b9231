/** Whether the files that a configuration names can be read: secrets, certificates, keys. */
import { readFile } from 'node:fs/promises';
import { terminal } from '../../lib/errors.ts';

/** Every key that ends in `_file`, at any depth, as `webhook.secrets[0].secret_file`. */
const filesOf = (value: unknown, key = ''): readonly (readonly [key: string, path: string])[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const at = Array.isArray(value) ? `${key}[${name}]` : `${key}${key === '' ? '' : '.'}${name}`;
    return name.endsWith('_file') && typeof child === 'string' ? [[at, child] as const] : filesOf(child, at);
  });
};

/** @throws terminal CONFIG_FILES that names every key and path that is wrong. */
export const checkFiles = async (config: object): Promise<void> => {
  const problems: string[] = [];
  for (const [key, path] of filesOf(config)) {
    const found = await readFile(path, 'utf8').catch((cause: { code?: string }) => cause);
    if (typeof found !== 'string') {
      const why = found.code === 'ENOENT' ? 'does not exist' : `cannot be read (${found.code ?? 'no access'})`;
      problems.push(`${key}: ${path} ${why}`);
    } else if (found.trim() === '') problems.push(`${key}: ${path} is empty`);
  }
  if (problems.length === 0) return;
  throw terminal('CONFIG_FILES', `Files that the configuration names cannot be used: ${problems.join('; ')}.`, {
    hint: 'Correct the paths, or let the user that runs callsync read the files.',
  });
};
