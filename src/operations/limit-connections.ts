/**
 * How many connections the operations port takes. It often shares its process with the receiver: a client that is slow,
 * or asks without end, must cost deliveries nothing, and must not keep a probe of the process out.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Open at once; of more, the oldest is closed whose request has not come yet, else the oldest. */
const mostOpen = 100;
/** New ones a second from one address, each of one request. A browser that opens the page makes four. */
const mostPerSecond = 100;
/** Milliseconds for which a client may take nothing of its answer. */
const idleMs = 15_000;

/** Settings of the server itself: how large and how slow a request may be. */
export const requestLimits = {
  maxHeaderSize: 8_192,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  // Node looks for requests that are late only every 30 s unless told otherwise.
  connectionsCheckingInterval: 1_000,
} as const;

/**
 * To be called before the server listens.
 * @param now tells milliseconds, from any beginning.
 */
export const limitConnections = (server: Server, now: () => number = () => performance.now()): void => {
  const open = new Map<string, Socket>();
  /** Those whose request has not come whole. */
  const unasked = new Map<string, Socket>();
  const taken = new Map<string, number>();
  let second = 0;

  const isOneTooMany = (address: string): boolean => {
    const present = Math.floor(now() / 1_000);
    if (present !== second) taken.clear();
    second = present;
    const count = (taken.get(address) ?? 0) + 1;
    taken.set(address, count);
    return count > mostPerSecond;
  };

  server.timeout = idleMs;
  // What is refused never reaches those that read requests: most of the price of a connection is theirs.
  const readers = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (isOneTooMany(socket.remoteAddress ?? '')) {
      socket.destroy();
      return;
    }
    if (open.size >= mostOpen) {
      const [oldest] = (unasked.size > 0 ? unasked : open).values();
      oldest?.destroy();
    }
    const peer = peerOf(socket);
    open.set(peer, socket);
    unasked.set(peer, socket);
    socket.once('close', () => {
      open.delete(peer);
      unasked.delete(peer);
    });
    for (const read of readers) Reflect.apply(read, server, [socket]);
  });
  server.on('request', ({ socket }) => unasked.delete(peerOf(socket)));
};

/** The same for a connection and for what TLS makes of it. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
