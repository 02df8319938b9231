/** Where embedded servers keep their data when `store.data_dir` is not set. */

import { join, resolve } from 'node:path';
import { terminal } from '../lib/errors.ts';
import { homeFolder } from '../lib/home-folder.ts';
import { makeWritable } from '../lib/new-folder.ts';

/** As root, PostgreSQL runs under another account, which cannot enter root's home. Root therefore gets the folder of system services. */
export const resolveDataDir = (configured: string | undefined, env: NodeJS.ProcessEnv = process.env): string => {
  if (configured !== undefined) return resolve(configured.replace(/^~(?=\/|$)/, homeFolder));
  if (process.getuid?.() === 0) return '/var/lib/callsync';
  return join(env.XDG_DATA_HOME || join(homeFolder(), '.local', 'share'), 'callsync');
};

/**
 * Makes the folder of embedded data where it is missing, and shows that it can be written to.
 * @throws terminal CONFIG_DATA_DIR
 */
export const makeDataDir = async (dir: string): Promise<void> => {
  const fault = await makeWritable(dir);
  if (fault === undefined) return;
  throw terminal('CONFIG_DATA_DIR', `The folder ${dir} cannot be made or written to (${fault.code}).`, {
    cause: fault,
  });
};
