/** A way to a server on this machine that a test makes slow, silent, or shuts and opens again. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listenOn } from './listen.ts';

/** @param target URL of the server. @param options.bytesPerSecond towards it, for each connection; answers are not held back. */
export const openLink = async (target: string, { bytesPerSecond = Number.POSITIVE_INFINITY } = {}) => {
  const url = new URL(target);
  const { hostname, port } = url;
  const sockets = new Set<Socket>();
  let muted: ReadonlySet<Socket> = new Set();
  let isOpen = true;
  const server = createServer((near) => {
    if (!isOpen) return void near.destroy();
    const far = connect(Number(port), hostname);
    const pass = (from: Socket, to: Socket, perSecond: number): void => {
      sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => sockets.delete(from) && to.destroy());
      from.on('data', (chunk) => {
        if (muted.has(from)) return;
        to.write(chunk);
        from.pause();
        delay((chunk.length / perSecond) * 1_000).then(() => from.resume());
      });
    };
    pass(near, far, bytesPerSecond);
    pass(far, near, Number.POSITIVE_INFINITY);
  });
  url.host = `127.0.0.1:${await listenOn(server)}`;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    /** Nothing passes on the connections that are open now, as behind a firewall that dropped them. */
    silence: (): void => {
      muted = new Set(sockets);
    },
    shut: (): void => {
      isOpen = false;
      cut();
    },
    open: (): void => {
      isOpen = true;
    },
    close: async (): Promise<void> => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
};
