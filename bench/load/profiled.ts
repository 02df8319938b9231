/**
 * Loaded by a worker before its own code (`node --import`): profiles its main thread and its threads. Each SIGUSR2 writes the
 * profiles since the last one into the folder of CALLSYNC_PROFILES.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';

const session = new Session();
session.connect();
/** Sessions of threads, and who waits for a profile of them. */
const threads = new Map<string, (profile: Profiler.Profile) => void>();

const send = (sessionId: string, ...methods: readonly string[]): void => {
  for (const [id, method] of methods.entries())
    session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method }) });
};
session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }) => {
  threads.set(sessionId, () => undefined);
  send(sessionId, 'Profiler.enable', 'Profiler.start');
});
session.on('NodeWorker.detachedFromWorker', ({ params: { sessionId } }) => threads.delete(sessionId));
session.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
  const { result } = JSON.parse(message) as { result?: { profile?: Profiler.Profile } };
  if (result?.profile !== undefined) threads.get(sessionId)?.(result.profile);
});
session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
session.post('Profiler.enable');
session.post('Profiler.start');

let written = 0;
process.on('SIGUSR2', async () => {
  const profiles = [...threads.keys()].map(
    (id) =>
      new Promise<Profiler.Profile>((resolve) => {
        threads.set(id, resolve);
        send(id, 'Profiler.stop', 'Profiler.start');
      }),
  );
  const main = new Promise((resolve) => session.post('Profiler.stop', (_error, { profile }) => resolve(profile)));
  session.post('Profiler.start');
  const path = join(process.env.CALLSYNC_PROFILES as string, `${written}.json`);
  written += 1;
  writeFileSync(`${path}.part`, JSON.stringify(await Promise.all([main, ...profiles])));
  renameSync(`${path}.part`, path);
});
