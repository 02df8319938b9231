/**
 * An attacker as a process of its own, from 127.0.0.2. It holds idle connections and sends bodies of 16 MiB without or
 * with a wrong signature, as fast as it can. Options as JSON in its first argument; prints `ready` once, and what it
 * did when it is asked.
 */
import { once } from 'node:events';
import { drained, head, openSocket } from './raw-http.ts';

const { port, idle, bodies } = JSON.parse(process.argv[2] ?? '') as Record<'port' | 'idle' | 'bodies', number>;
const bodyBytes = 16 * 1024 * 1024;
const chunk = Buffer.alloc(65_536, 'x');
const done = { idleClosed: 0, requests: 0, bytes: 0, answers: {} as Record<string, number> };
let stopped = false;

const open = () => openSocket(port, { localAddress: '127.0.0.2', noDelay: true });

/** Left open with nothing sent; when it is closed, another is opened a little later. */
const stayIdle = async (): Promise<void> => {
  while (!stopped) {
    const socket = await open();
    socket.resume();
    if (!socket.destroyed) await once(socket, 'close').catch(() => {});
    done.idleClosed += 1;
    // Without a pause it would only measure how fast this process opens sockets.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
};

const sendBodies = async (signature: string | undefined): Promise<void> => {
  while (!stopped) {
    const socket = await open();
    let answer = '';
    socket.on('data', (bytes) => (answer += bytes.toString('latin1')));
    done.requests += 1;
    socket.write(head({ 'X-Service-Signature': signature, 'Content-Length': String(bodyBytes) }));
    for (let sent = 0; sent < bodyBytes && !socket.destroyed && !stopped; sent += chunk.length) {
      done.bytes += chunk.length;
      if (!socket.write(chunk)) await drained(socket);
    }
    if (!socket.destroyed && !stopped) await once(socket, 'close').catch(() => {});
    const status = answer.split(' ')[1] ?? 'none';
    done.answers[status] = (done.answers[status] ?? 0) + 1;
    socket.destroy();
  }
};

for (let count = 0; count < idle; count += 1) stayIdle();
for (let count = 0; count < bodies; count += 1) sendBodies(count % 2 === 0 ? undefined : `sha256=${'0'.repeat(64)}`);
process.stdout.write('ready\n');
// No longer than the process that started it.
process.stdin.on('end', () => process.exit());
await once(process.stdin, 'data');
stopped = true;
process.stdout.write(`${JSON.stringify(done)}\n`, () => process.exit());
