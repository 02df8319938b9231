/** Where embedded servers keep their data when `store.data_dir` is not set. */
import { constants, existsSync } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { terminal } from '../lib/errors.ts';
import { homeFolder } from '../lib/home-folder.ts';

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
  try {
    // Folder by folder: where a parent takes none, as /proc does, a recursive mkdir of Node never returns.
    for (const folder of missingFolders(dir)) await mkdir(folder).catch(unlessMadeByAnother);
    await access(dir, constants.W_OK);
  } catch (cause) {
    const { code = 'no access' } = cause as { code?: string };
    throw terminal('CONFIG_DATA_DIR', `The folder ${dir} cannot be made or written to (${code}).`, {
      hint: 'Set another folder in store.data_dir, or in --data-dir of the demo.',
      cause,
    });
  }
};

const unlessMadeByAnother = (error: { code?: string }): void => {
  if (error.code !== 'EEXIST') throw error;
};

/** Folders from the outermost to the folder itself. */
const missingFolders = (dir: string): readonly string[] =>
  existsSync(dir) || dir === dirname(dir) ? [] : [...missingFolders(dirname(dir)), dir];
