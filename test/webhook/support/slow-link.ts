/** A TCP proxy that passes what it gets to a server at a given speed. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface SlowLink {
  readonly port: number;
  close(): Promise<void>;
}

/** @param bytesPerSecond towards the server, for each connection; answers are not held back. */
export const openSlowLink = async (serverPort: number, bytesPerSecond: number): Promise<SlowLink> => {
  const sockets = new Set<Socket>();
  const server = createServer(async (client) => {
    const upstream = connect(serverPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    upstream.on('close', () => client.destroy()).pipe(client);
    try {
      for await (const chunk of client as AsyncIterable<Buffer>) {
        upstream.write(chunk);
        await sleep((chunk.length / bytesPerSecond) * 1_000);
      }
    } catch {
      // Cut off by its client.
    }
    upstream.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
