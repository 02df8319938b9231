/** Where embedded servers keep their data when `store.data_dir` is not set. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Root's home is closed to the account that PostgreSQL then runs as, so root gets the place of system services. */
export const resolveDataDir = (configured: string | undefined, env: NodeJS.ProcessEnv = process.env): string => {
  if (configured !== undefined) return resolve(configured.replace(/^~(?=\/|$)/, homedir()));
  if (process.getuid?.() === 0) return '/var/lib/callsync';
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'callsync');
};
