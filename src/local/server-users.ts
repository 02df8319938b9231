/**
 * Who uses a server that callsync started for itself: commands on the same data share it, and the last one that leaves
 * ends it, whoever started it. A file a user, in a folder beside the data.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './local-process.ts';

export interface ServerUse {
  /** Says which process the server is: those who used an earlier one, which was killed, do not count. */
  of(server: number): void;
  /** Ends the use; true when nobody else uses the server. Synchronous: a process that exits can do nothing else. */
  leave(): boolean;
}

/** To be called before a running server is looked for: one that is found then is not ended by the user before us. */
export const useServer = (home: string): ServerUse => {
  const folder = join(home, 'users');
  const name = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const own = join(folder, name);
  let server = 0;
  mkdirSync(folder, { recursive: true });
  writeFileSync(own, describeUse(server));
  return {
    of(pid) {
      server = pid;
      writeFileSync(own, describeUse(server));
    },
    leave() {
      rmSync(own, { force: true });
      return list(folder).every((other) => !counts(folder, other, server));
    },
  };
};

const describeUse = (server: number): string => `${startOf(process.pid)} ${server}\n`;

const list = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** Files of processes that were killed are cleared away. */
const counts = (folder: string, name: string, server: number): boolean => {
  const file = join(folder, name);
  const pid = Number(name.split('-')[0]);
  const [start, used] = readText(file).trim().split(' ');
  if (!isAlive(pid) || (start !== startOf(pid) && start !== '')) {
    rmSync(file, { force: true });
    return false;
  }
  return used === undefined || Number(used) === 0 || Number(used) === server;
};

/** When a process started, where the system tells: a process id may be given again. */
const startOf = (pid: number): string => {
  const stat = readText(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '-';
};

const readText = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};
