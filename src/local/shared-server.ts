/**
 * Servers that several callsync processes share. Commands on the same data join one server, and the last of them
 * stops it. Each user shares a lock; the only holder is the last.
 */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { loadTryLock } from '../lib/file-lock.ts';
import { lazily } from '../lib/timing.ts';
import { letOutlive, type StopRules, sendSignal, stopLocalProcess } from './local-process.ts';

interface ServerRules<Server extends { readonly pid: number }> extends StopRules {
  readonly startDeadlineMs: number;
  /** The server that runs on this data, if any. */
  find(): Promise<Server | undefined>;
  /** Starts one; undefined when another process was quicker or the last server still holds the data. */
  launch(): Promise<Server | undefined>;
  /** The error when neither succeeds before the deadline. */
  blocked(): Error;
}

const lookEveryMs = 100;

/**
 * Joins the server on the data in `home`, or starts one.
 * @returns the server. `started`: it was not running. `stop` ends our use, as an exit of the process does.
 * @throws the errors of `launch` and `blocked`, and CallsyncError SPOOL_LOCK_UNSUPPORTED
 */
export const shareServer = async <Server extends { readonly pid: number }>(
  home: string,
  rules: ServerRules<Server>,
) => {
  const tryLock = await loadTryLock();
  const deadline = Date.now() + rules.startDeadlineMs;
  const openLock = (): number => openSync(join(home, 'users.lock'), 'a+', 0o600);
  mkdirSync(home, { recursive: true });
  const use = openLock();
  // Open from the start, because the folder may be gone when this user leaves.
  const alone = openLock();
  /** Synchronous, because an exiting process can do nothing else. If it is the last, nobody can join before `free`. */
  const leave = (): { readonly isLast: boolean; free(): void } => {
    closeSync(use);
    return { isLast: tryLock(alone), free: () => closeSync(alone) };
  };
  try {
    // Before looking: a server that is found afterwards is not ended by the user that leaves meanwhile.
    while (!tryLock(use, { shared: true })) await pause(deadline, rules);
    for (;;) {
      const running = await rules.find();
      const server = running ?? (await rules.launch());
      if (server === undefined) {
        await pause(deadline, rules);
        continue;
      }
      letOutlive(server.pid);
      const leaveAtExit = () => void (leave().isLast && sendSignal(server.pid, rules.signal));
      process.once('exit', leaveAtExit);
      const stop = lazily(async () => {
        process.off('exit', leaveAtExit);
        const { isLast, free } = leave();
        // Another user may have started a server in place of a killed one.
        if (isLast) await stopLocalProcess(((await rules.find().catch(() => undefined)) ?? server).pid, rules);
        free();
      });
      return { server, started: running === undefined, stop };
    }
  } catch (cause) {
    closeSync(use);
    closeSync(alone);
    throw cause;
  }
};

const pause = async (deadline: number, { blocked }: Pick<ServerRules<never>, 'blocked'>): Promise<void> => {
  if (Date.now() > deadline) throw blocked();
  await delay(lookEveryMs);
};
