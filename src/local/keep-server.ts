/** Starts a server of this machine again when it ends without having been asked to. */
import { isAlive } from './local-process.ts';

export interface KeptServer {
  readonly pid: number;
  stop(): Promise<void>;
}

const lookEveryMs = 1_000;

/**
 * Watches the server until `stop`. `start` must bring it back at the same address, where its clients connect again by
 * themselves. A start that fails is tried again.
 */
export const keepServer = (
  first: KeptServer,
  start: () => Promise<KeptServer>,
  say: (message: string) => void,
): { stop(): Promise<void> } => {
  let server = first;
  let starting: Promise<void> | undefined;
  const restart = async (): Promise<void> => {
    say(`The server with process id ${server.pid} ended; it is started again.`);
    try {
      await server.stop();
      server = await start();
    } catch (error) {
      say(`It did not start: ${(error as Error).message}`);
    }
    starting = undefined;
  };
  const timer = setInterval(() => {
    if (starting === undefined && !isAlive(server.pid)) starting = restart();
  }, lookEveryMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await starting;
      await server.stop();
    },
  };
};
