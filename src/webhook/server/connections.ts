/**
 * Shares connections between senders. One that opens more than its share loses its own oldest idle one; when all are taken,
 * the sender with most loses one, those that never sent a verified delivery first.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type AddressList, senderOf } from './senders.ts';

interface Connection {
  readonly socket: Socket;
  readonly sender: string;
  /** Requests under way. */
  requests: number;
}

export const limitConnections = (
  server: Server,
  options: {
    readonly most: number;
    readonly mostPerSender: number;
    /** Proxies carry the connections of many: they are not counted. */
    readonly isProxy: AddressList;
    readonly isKnown: (sender: string) => boolean;
    readonly onDrop: () => void;
  },
): void => {
  const { most, mostPerSender, isProxy, isKnown, onDrop } = options;
  const byEnd = new Map<string, Connection>();
  /** Each sender's connections; the one that has been idle for longest comes before the other idle ones. */
  const bySender = new Map<string, Set<Connection>>();

  const forget = (end: string, connection: Connection): void => {
    byEnd.delete(end);
    const own = bySender.get(connection.sender);
    own?.delete(connection);
    if (own?.size === 0) bySender.delete(connection.sender);
  };

  /** Closes the oldest idle one; where all are busy, the newest connection if it is one of them, else the oldest. */
  const drop = (connections: ReadonlySet<Connection>, newest: Connection): void => {
    const [oldest = newest] = connections;
    let found = connections.has(newest) ? newest : oldest;
    for (const connection of connections) {
      if (connection.requests > 0 || connection === newest) continue;
      found = connection;
      break;
    }
    found.socket.destroy();
    onDrop();
  };

  const senderWithMost = (): ReadonlySet<Connection> => {
    let found: ReadonlySet<Connection> = new Set();
    let known = true;
    for (const [sender, own] of bySender) {
      const isBetter = known === isKnown(sender) ? own.size > found.size : known;
      if (!isBetter) continue;
      found = own;
      known = isKnown(sender);
    }
    return found;
  };

  server.on('connection', (socket: Socket) => {
    const { remoteAddress, remotePort } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress)) return;
    const end = `${remoteAddress} ${remotePort}`;
    const connection: Connection = { socket, sender: senderOf(remoteAddress), requests: 0 };
    byEnd.set(end, connection);
    const own = bySender.get(connection.sender) ?? new Set();
    bySender.set(connection.sender, own.add(connection));
    socket.once('close', () => forget(end, connection));
    if (own.size > mostPerSender) drop(own, connection);
    else if (byEnd.size > most) drop(senderWithMost(), connection);
  });

  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const connection = byEnd.get(`${socket.remoteAddress} ${socket.remotePort}`);
    if (connection === undefined) return;
    connection.requests += 1;
    response.once('close', () => {
      connection.requests -= 1;
      const own = bySender.get(connection.sender);
      if (own?.delete(connection)) own.add(connection);
    });
  });
};
