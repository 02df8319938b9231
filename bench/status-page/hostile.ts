/**
 * Hostile clients of a status page, in a process of their own. They take nothing of an answer, send
 * heads that never end or are too large, and ask for the page without end. Attacks `host:port` of its first argument
 * until its input ends, then prints one JSON line with what became of its connections.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const [, , target = ''] = process.argv;
const { hostname, port } = new URL(target);
const host = `Host: ${hostname}:${port}\r\n`;
/** Connections begun in each hundredth of a second, and most that are open at once. */
const perTick = 20;
const mostOpen = 2_000;

const huge = `GET / HTTP/1.1\r\n${host}X-Large: ${'x'.repeat(60_000)}\r\n\r\n`;
const kinds: readonly { readonly name: string; begin(socket: Socket): void }[] = [
  {
    name: 'unread',
    begin: (socket) => {
      socket.write(`GET / HTTP/1.1\r\n${host}\r\n`);
      socket.pause();
    },
  },
  {
    name: 'slow',
    begin: (socket) => {
      socket.write(`GET / HTTP/1.1\r\n${host}X-Slow: `);
      const timer = setInterval(() => socket.write('x'), 500);
      socket.once('close', () => clearInterval(timer));
    },
  },
  { name: 'huge', begin: (socket) => void socket.write(huge) },
  ...['flood', 'flood', 'flood'].map((name) => ({
    name,
    begin: (socket: Socket) => void socket.write(`GET / HTTP/1.1\r\n${host}\r\n`),
  })),
];

const begun: Record<string, number> = {};
const answered: Record<string, number> = {};
const open = new Set<Socket>();
let turn = 0;
const start = (): void => {
  const kind = kinds[turn % kinds.length];
  turn += 1;
  if (kind === undefined) return;
  begun[kind.name] = (begun[kind.name] ?? 0) + 1;
  const socket = connect(Number(port), hostname, () => kind.begin(socket));
  open.add(socket);
  socket.once('data', (bytes) => {
    const status = bytes.subarray(9, 12).toString('latin1');
    answered[status] = (answered[status] ?? 0) + 1;
  });
  socket.on('error', () => undefined);
  socket.once('close', () => open.delete(socket));
};
const timer = setInterval(() => {
  for (let count = 0; count < perTick && open.size < mostOpen; count += 1) start();
}, 10);

process.stdin.resume();
await once(process.stdin, 'end');
clearInterval(timer);
process.stdout.write(`${JSON.stringify({ begun, answered, open: open.size })}\n`);
process.exit(0);
