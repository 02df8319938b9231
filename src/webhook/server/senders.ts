/**
 * Senders by their remote addresses: lists, groups of addresses, senders with a recent valid signature, and repeated
 * offenders.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebhookConfig } from '../../../schemas/config/webhook.ts';

type AddressList = (address: string) => boolean;

/** Senders that have lately signed a delivery rightly. Where room is short, they come before all others. */
export type KnownSenders = ReturnType<typeof createKnownSenders>;

export type Offenders = ReturnType<typeof createOffenders>;

const keptMs = 24 * 3_600_000;
/** Most remembered senders. callsync first forgets those that were noted longest ago; a service sends from few addresses. */
const most = 1_000;

const MiB = 1024 * 1024;
/** Bytes that a sender may have read in vain at once, and how much more each second. */
const reading = { most: 64 * MiB, perSecond: 4 * MiB };
/** Refusals that are answered at once. */
const refusals = { most: 64, perSecond: 4 };
/** A client that waits for its answers sends so much less. */
const answerDelayMs = 1_000;

/** @param entries addresses or CIDR ranges, as the configuration's schema lets them pass. */
export const createAddressList = (entries: readonly string[]): AddressList => {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const plain = plainAddress(address);
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4');
  };
};

/** An IPv4 address as it is; of an IPv6 address its network of 64 bits, all of which one host may use. */
export const senderOf = (address: string | undefined): string => {
  const plain = plainAddress(address);
  if (!plain.includes(':') || !isIPv6(plain)) return plain;
  const [left = '', right] = plain.split('::');
  const groups = left === '' ? [] : left.split(':');
  const missing = right === undefined ? 0 : 8 - groups.length - (right === '' ? 0 : right.split(':').length);
  const all = [...groups, ...Array.from({ length: missing }, () => '0'), ...(right ? right.split(':') : [])];
  return all.slice(0, 4).join(':');
};

/** Sets a value as the newest one, and forgets the oldest beyond `limit`. */
const setNewest = <T>(values: Map<string, T>, limit: number, sender: string, value: T): void => {
  values.delete(sender);
  values.set(sender, value);
  const [oldest] = values.keys();
  if (values.size > limit && oldest !== undefined) values.delete(oldest);
};

export const createKnownSenders = () => {
  const lastVerified = new Map<string, number>();
  return {
    /** A delivery of this sender was verified. */
    note: (sender: string) => setNewest(lastVerified, most, sender, performance.now()),
    has: (sender: string) => performance.now() - (lastVerified.get(sender) ?? Number.NEGATIVE_INFINITY) < keptMs,
  };
};

/**
 * Senders with repeatedly refused deliveries get late answers, and heavy ones stay unread for a while. Valid senders
 * then have processor and connection queue to themselves. Known senders are exempt.
 */
export const createOffenders = (options: {
  readonly isKnown: (sender: string) => boolean;
  /** Milliseconds. */
  readonly clock?: () => number;
  readonly delayMs?: number;
}) => {
  const { isKnown, clock = () => performance.now(), delayMs = answerDelayMs } = options;
  const bytesLeft = createAllowances(reading, clock);
  const refusalsLeft = createAllowances(refusals, clock);
  return {
    /** Whether bodies of the sender are left unread for now. */
    isHeldBack: (sender: string) => !isKnown(sender) && bytesLeft.of(sender) < 0,
    /** A delivery was not taken after `bytes` of its body were read; resolves when it may be answered. */
    async note(sender: string, bytes: number) {
      if (isKnown(sender)) return;
      bytesLeft.take(sender, bytes);
      refusalsLeft.take(sender, 1);
      if (refusalsLeft.of(sender) < 0) await sleep(delayMs);
    },
  };
};

const written = /^"?(?:\[(?<v6>[^\]]+)\]|(?<v4>[\d.]+))(?::\w+)?"?$/;

/**
 * The address alone. Proxies add ports, brackets and quotes, sockets a zone, and a socket of both families shows IPv4 as IPv6.
 * @param address nothing where the connection has closed meanwhile
 */
const plainAddress = (address: string | undefined = ''): string => {
  const { v4, v6 } = written.exec(address)?.groups ?? {};
  const [plain = ''] = (v4 ?? v6 ?? address).toLowerCase().split('%');
  return plain.startsWith('::ffff:') && plain.includes('.') ? plain.slice('::ffff:'.length) : plain;
};

/** More senders are forgotten, the longest unheard of first. */
const mostSenders = 10_000;
/** The debt is bounded: after a fixed time, a sender may send again. */
const longestDebtSeconds = 60;

const createAllowances = ({ most, perSecond }: typeof reading, clock: () => number) => {
  const allowances = new Map<string, { readonly left: number; readonly at: number }>();
  const of = (sender: string): number => {
    const known = allowances.get(sender);
    if (known === undefined) return most;
    return Math.min(most, known.left + ((clock() - known.at) / 1_000) * perSecond);
  };
  return {
    of,
    take(sender: string, amount: number): void {
      const left = Math.max(of(sender) - amount, -perSecond * longestDebtSeconds);
      setNewest(allowances, mostSenders, sender, { left, at: clock() });
    },
  };
};

interface Connection {
  readonly socket: Socket;
  readonly sender: string;
  /** Requests under way. */
  requests: number;
}

export const limitConnections = (
  server: Server,
  options: {
    readonly limits: WebhookConfig['limits'];
    /** Proxies carry connections of many senders, so they are exempt. */
    readonly isProxy: AddressList;
    readonly isKnown: (sender: string) => boolean;
    readonly onDrop: () => void;
  },
): void => {
  const { limits, isProxy, isKnown, onDrop } = options;
  const byEnd = new Map<string, Connection>();
  /** Each sender's connections; the one that has been idle for longest comes before the other idle ones. */
  const bySender = new Map<string, Set<Connection>>();

  const forget = (end: string, connection: Connection): void => {
    byEnd.delete(end);
    const own = bySender.get(connection.sender);
    own?.delete(connection);
    if (own?.size === 0) bySender.delete(connection.sender);
  };

  /** Closes the oldest idle connection. If all are busy, closes the newest connection if it is among them, else the oldest. */
  const drop = (connections: ReadonlySet<Connection>, newest: Connection): void => {
    const [oldest = newest] = connections;
    const idle = [...connections].find((one) => one.requests === 0 && one !== newest);
    (idle ?? (connections.has(newest) ? newest : oldest)).socket.destroy();
    onDrop();
  };

  type Sender = readonly [name: string, own: ReadonlySet<Connection>];
  const sendsMore = ([one, own]: Sender, [other, others]: Sender): boolean =>
    isKnown(one) === isKnown(other) ? own.size > others.size : isKnown(other);
  const senderWithMost = () => [...bySender].reduce((most, one) => (sendsMore(one, most) ? one : most))[1];

  server.on('connection', (socket: Socket) => {
    const { remoteAddress, remotePort } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress)) return;
    const end = `${remoteAddress} ${remotePort}`;
    const connection: Connection = { socket, sender: senderOf(remoteAddress), requests: 0 };
    byEnd.set(end, connection);
    const own = bySender.get(connection.sender) ?? new Set();
    bySender.set(connection.sender, own.add(connection));
    socket.once('close', () => forget(end, connection));
    if (own.size > limits.connections_per_sender) drop(own, connection);
    else if (byEnd.size > limits.connections) drop(senderWithMost(), connection);
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
