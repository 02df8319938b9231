/** The MRCP interface (§5.3): a TCP port behind an IP whitelist, which refuses other clients or never answers them. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Counters } from '../control/stats.ts';

/** Listens, then blocks its thread: the kernel fills the queue of one and drops every further SYN. */
const deafListener = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ ...workerData, backlog: 1 }, () => {
    setTimeout(() => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }, 20);
  });`;

export type MrcpPort = ReturnType<typeof createMrcpPort>;

/** The MRCP port, once it listens; connections and bytes are counted, and nothing is answered. */
export const createMrcpPort = (host: string, { mrcp: counts }: Pick<Counters, 'mrcp'>) => {
  let port = 0;
  let server: Server | undefined;
  let worker: Worker | undefined;
  const sockets = new Set<Socket>();

  const listen = async (): Promise<void> => {
    server = createServer((socket) => {
      counts.connections++;
      sockets.add(socket);
      socket.on('data', (data) => {
        counts.bytes += data.length;
      });
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    });
    await once(server.listen(port, host), 'listening');
    port = (server.address() as AddressInfo).port;
  };

  const listenDeaf = async (): Promise<void> => {
    const deaf = new Worker(deafListener, { eval: true, workerData: { host, port } });
    worker = deaf;
    [port] = (await once(deaf, 'message')) as [number];
    for (let i = 0; i < 4; i++) {
      const socket = connect(port, host);
      socket.on('error', () => undefined);
      sockets.add(socket);
    }
    await delay(60);
  };

  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    const [listening, deaf] = [server, worker];
    server = undefined;
    worker = undefined;
    await deaf?.terminate();
    if (listening !== undefined) await new Promise((resolve) => listening.close(resolve));
  };

  return {
    /** Opens the port in a mode; a later change keeps the port number. Returns it. */
    open: async (mode: SimulatorSettings['mrcp']['mode']) => {
      await close();
      await (mode === 'unanswered' ? listenDeaf() : listen());
      if (mode === 'refuse') await close();
      return port;
    },
    close,
  };
};
