/** Finds the programs that callsync starts. */

import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { terminal } from '../lib/errors.ts';
import { homeFolder } from '../lib/home-folder.ts';
import { makeWritable } from '../lib/new-folder.ts';

/** Whether this user may run the file. */
export const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/**
 * Full path of a program: the configured one, or one in PATH's folders. Undefined if it is not installed.
 * @param refuse makes the error for a wrong configured path.
 */
export const findInstalled = async (name: string, { configured, env, refuse }: FindOptions) => {
  if (configured) {
    if (await isExecutable(configured)) return configured;
    throw refuse(configured);
  }
  for (const folder of (env.PATH ?? '').split(delimiter).filter(Boolean))
    if (await isExecutable(join(folder, name))) return join(folder, name);
  return undefined;
};

interface FindOptions {
  readonly configured: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly refuse: (path: string) => Error;
}

/** Folder of a tool in the user's cache, named with its version; it may not exist yet. */
export const cacheFolderOf = (tool: string, env: NodeJS.ProcessEnv): string =>
  join(env.XDG_CACHE_HOME || join(homeFolder(), '.cache'), 'callsync', tool);

/** Makes a folder of the cache where it is missing, and shows that it can be written to. @throws terminal CACHE_FOLDER */
export const makeCacheFolder = async (folder: string): Promise<void> => {
  const fault = await makeWritable(folder);
  if (fault === undefined) return;
  throw terminal('CACHE_FOLDER', `The folder ${folder} cannot be made or written to (${fault.code}).`, {
    cause: fault,
  });
};
