/** Clients that mean no good: slow ones that keep coming back, and ones that send far too much. */
import { once, setMaxListeners } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { head } from './raw-http.ts';

export interface Attack {
  /** Sockets open now. */
  open(): number;
  stop(): Promise<void>;
}

const wellFormed = { 'X-Service-Signature': `sha256=${'0'.repeat(64)}`, 'Content-Type': 'application/json' };

/** The bytes of a slow socket: at once, and then again and again. */
const slowKinds: readonly { first: string | Buffer; drip: string | Buffer }[] = [
  { first: '', drip: '' },
  { first: 'POST /webhook HTTP/1.1\r\nHost: x\r\n', drip: 'X-Drip: 1\r\n' },
  { first: head({ ...wellFormed, 'Content-Length': '1000000' }), drip: 'x' },
  { first: head({ ...wellFormed, 'Transfer-Encoding': 'chunked' }), drip: '1\r\nx\r\n' },
  {
    first: Buffer.concat([Buffer.from(head({ ...wellFormed, 'Content-Length': '5000000' })), Buffer.alloc(60_000)]),
    drip: Buffer.alloc(1_000),
  },
];

/** Each socket that is closed is opened again. */
export const startSlowSockets = (port: number, count: number): Attack => {
  const stopped = new AbortController();
  setMaxListeners(0, stopped.signal);
  const open = new Set<Socket>();
  const run = async (kind: (typeof slowKinds)[number]) => {
    while (!stopped.signal.aborted) {
      const socket = await openSocket(port);
      open.add(socket);
      socket.write(kind.first);
      while (!socket.destroyed && !stopped.signal.aborted) {
        await sleep(300, undefined, { signal: stopped.signal }).catch(() => {});
        if (!socket.destroyed && kind.drip !== '') socket.write(kind.drip);
      }
      socket.destroy();
      open.delete(socket);
    }
  };
  const runs = Array.from({ length: count }, (_, index) =>
    run(slowKinds[index % slowKinds.length] as (typeof slowKinds)[0]),
  );
  return attackOf(stopped, runs, () => open.size);
};

/** Bodies beyond the limit, half of them announced, the others in chunks without an end; `count` in all. */
export const startOversized = (port: number, count: number, atOnce: number) => {
  const stopped = new AbortController();
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);
  const open = new Set<Socket>();
  let next = 0;
  const run = async () => {
    for (let number = next++; number < count && !stopped.signal.aborted; number = next++) {
      const socket = await openSocket(port);
      open.add(socket);
      const framing: Record<string, string> =
        number % 2 === 0 ? { 'Content-Length': String(2 ** 31) } : { 'Transfer-Encoding': 'chunked' };
      socket.write(head({ ...wellFormed, ...framing }));
      while (!socket.destroyed && !stopped.signal.aborted) {
        if (!socket.write(chunk)) await drained(socket);
      }
      socket.destroy();
      open.delete(socket);
    }
  };
  const runs = Array.from({ length: atOnce }, run);
  return { ...attackOf(stopped, runs, () => open.size), done: Promise.all(runs).then(() => {}) };
};

const attackOf = (stopped: AbortController, runs: readonly Promise<void>[], open: () => number): Attack => {
  return {
    open,
    async stop() {
      stopped.abort();
      await Promise.all(runs);
    },
  };
};

const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });

const openSocket = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1' });
  // Whatever the receiver does to it, it is tried again.
  socket.on('error', () => socket.destroy());
  socket.resume();
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
  return socket;
};
