/**
 * Servers that several callsync processes share: commands on the same data join one server, and the last of them to leave
 * ends it, whichever started it. The folder `users` beside the data holds one file for each use.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, letOutlive, type StopRules, sendSignal, stopLocalProcess } from './local-process.ts';

interface SharedServer<Server> {
  readonly server: Server;
  /** False: it was running already. */
  readonly started: boolean;
  /** Ends our use; an exit of the process does, too. */
  stop(): Promise<void>;
}

interface ServerRules<Server extends { readonly pid: number }> extends StopRules {
  readonly startDeadlineMs: number;
  /** The server that runs on this data, if any. */
  find(): Promise<Server | undefined>;
  /** Starts one; undefined when another process was quicker or the last server still holds the data. */
  launch(): Promise<Server | undefined>;
  /** The error when neither succeeds before the deadline. */
  blocked(): Error;
}

/** Joins the server on the data in `home`, or starts one. @throws what `launch` and `blocked` say */
export const shareServer = async <Server extends { readonly pid: number }>(
  home: string,
  rules: ServerRules<Server>,
): Promise<SharedServer<Server>> => {
  // Before looking: a server that is found afterwards is not ended by the user that leaves meanwhile.
  const use = registerUse(home);
  try {
    const { server, started } = await joinOrLaunch(rules);
    use.nameServer(server.pid);
    letOutlive(server.pid);
    const leaveAtExit = () => void (use.leave() && sendSignal(server.pid, rules.signal));
    process.once('exit', leaveAtExit);
    const stop = async (): Promise<void> => {
      process.off('exit', leaveAtExit);
      if (use.leave()) await stopLocalProcess(server.pid, rules);
    };
    return { server, started, stop };
  } catch (cause) {
    use.leave();
    throw cause;
  }
};

const joinOrLaunch = async <Server extends { readonly pid: number }>(
  rules: ServerRules<Server>,
): Promise<{ server: Server; started: boolean }> => {
  const deadline = Date.now() + rules.startDeadlineMs;
  for (;;) {
    const running = await rules.find();
    if (running !== undefined) return { server: running, started: false };
    const launched = await rules.launch();
    if (launched !== undefined) return { server: launched, started: true };
    if (Date.now() > deadline) throw rules.blocked();
    await delay(100);
  }
};

interface ServerUse {
  /** Names the process of the server: users of an earlier one, which was killed, do not count. */
  nameServer(pid: number): void;
  /** Ends the use; true when no other user is left. Synchronous, because an exiting process can do nothing else. */
  leave(): boolean;
}

const registerUse = (home: string): ServerUse => {
  const folder = join(home, 'users');
  const own = join(folder, `${process.pid}-${randomBytes(4).toString('hex')}`);
  let server = 0;
  mkdirSync(folder, { recursive: true });
  writeFileSync(own, describeUse(server));
  return {
    nameServer(pid) {
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

/** Whether another user counts; removes the files of processes that were killed. */
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

/** When a process started, where the system tells: process ids are used again. */
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
