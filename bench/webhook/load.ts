/**
 * A cheap sender in a process of its own: requests are built beforehand and written to raw sockets, one at a time on
 * each. Takes its orders as JSON on standard input and prints one JSON line.
 */
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { signBody } from '../../src/lib/send-webhook.ts';
import { makeCallBodies } from './bodies.ts';

export interface LoadOrder {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly secret: string;
  readonly connections: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Deliveries a second over all connections; as fast as answers come without it. */
  readonly rate?: number;
  /** Different deliveries, of calls in some of which a number is spoken; by default 50 of calls without. */
  readonly different?: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers by status code. */
  readonly answers: Readonly<Record<string, number>>;
}

const headEnd = Buffer.from('\r\n\r\n');

const prepare = (order: LoadOrder): readonly { head: string; body: Buffer }[] => {
  const bodies = order.different === undefined ? makeCallBodies(50) : makeCallBodies(order.different, undefined, true);
  return bodies.map((body) => ({
    head: [
      `POST ${order.path} HTTP/1.1`,
      `Host: ${order.host}`,
      'Content-Type: application/json',
      'User-agent: Service-Webhook/1.2.0',
      'X-Service-Hook-Id: bench',
      `X-Service-Signature: ${signBody(body, order.secret)}`,
      `Content-Length: ${body.length}`,
      'X-Service-Delivery: ',
    ].join('\r\n'),
    body,
  }));
};

const run = async (order: LoadOrder): Promise<LoadResult> => {
  const requests = prepare(order);
  const answers: Record<string, number> = {};
  const latencies: number[] = [];
  const begin = performance.now() + order.warmUpSeconds * 1_000;
  const end = begin + order.seconds * 1_000;
  const gapMs = order.rate === undefined ? 0 : (1_000 * order.connections) / order.rate;
  let sent = 0;
  let counted = 0;

  const drive = (socket: Socket, index: number): Promise<void> =>
    new Promise((resolve, reject) => {
      let startedAt = 0;
      let due = performance.now() + (gapMs * index) / order.connections;
      const send = () => {
        const request = requests[sent % requests.length];
        sent += 1;
        if (request === undefined) return;
        startedAt = performance.now();
        socket.cork();
        socket.write(`${request.head}${(Date.now() / 1_000).toFixed(3)}${sent % 1_000}\r\n\r\n`, 'latin1');
        socket.write(request.body);
        socket.uncork();
      };
      const next = () => {
        const now = performance.now();
        if (now >= end) {
          socket.end();
          resolve();
          return;
        }
        due += gapMs;
        if (due > now) setTimeout(send, due - now);
        else send();
      };
      socket.on('data', (bytes) => {
        // Every answer is a head without a body, in one piece.
        const answer = bytes.subarray(0, 12).toString('latin1');
        if (!answer.startsWith('HTTP/1.1 ') || bytes.indexOf(headEnd) === -1) {
          reject(new Error('The receiver answered in a form that this sender cannot count.'));
          return;
        }
        const now = performance.now();
        if (now >= begin && now < end) {
          const status = answer.slice(9);
          answers[status] = (answers[status] ?? 0) + 1;
          if (status.startsWith('2')) {
            counted += 1;
            latencies.push(now - startedAt);
          }
        }
        next();
      });
      socket.on('error', reject);
      if (gapMs > 0) setTimeout(send, Math.max(0, due - performance.now()));
      else send();
    });

  const sockets = Array.from({ length: order.connections }, () =>
    connect({ host: order.host, port: order.port, noDelay: true }),
  );
  await Promise.all(sockets.map(drive));
  latencies.sort((left, right) => left - right);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { perSecond: counted / order.seconds, p50Ms: at(0.5), p99Ms: at(0.99), answers };
};

process.stdout.write(`${JSON.stringify(await run(JSON.parse(await text(process.stdin)) as LoadOrder))}\n`);
