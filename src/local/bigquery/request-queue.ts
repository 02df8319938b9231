/**
 * Lets one request at a time through to the emulator. It runs every statement on one connection to DuckDB, from several
 * threads: a listing of a table that overlaps another statement may be answered with that one's rows (bqemulator 1.4.0).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface EmulatorQueue {
  readonly port: number;
  close(): Promise<void>;
}

/** Longer than any client keeps an idle connection, so that none is closed under a request. */
const keepAliveTimeout = 120_000;

/** Listens on loopback; `port` 0 = any free one. @throws Error of `listen`, such as EADDRINUSE. */
export const openEmulatorQueue = async (upstreamPort: number, port: number): Promise<EmulatorQueue> => {
  let last: Promise<void> = Promise.resolve();
  const server = createServer({ keepAliveTimeout, requestTimeout: 0 }, (request, response) => {
    const body: Buffer[] = [];
    request.on('data', (chunk: Buffer) => body.push(chunk));
    request.on('end', () => {
      last = last.then(() => forward(upstreamPort, request, Buffer.concat(body), response));
    });
    request.on('error', () => undefined);
  });
  await listen(server, port);
  // As the emulator itself, it does not keep a process alive.
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });

/** Resolves when the emulator has answered, also where the client has left; a lost emulator is a lost connection. */
const forward = (port: number, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const { 'transfer-encoding': _, ...headers } = request.headers;
    const onward = send(
      {
        host: '127.0.0.1',
        port,
        method: request.method,
        path: request.url,
        agent: false,
        headers: { ...headers, connection: 'close', 'content-length': body.length },
      },
      (answer) => {
        const { connection: __, ...rest } = answer.headers;
        answer.once('close', resolve);
        answer.once('error', () => response.destroy());
        if (response.destroyed) {
          answer.resume();
          return;
        }
        response.once('close', () => answer.resume());
        response.writeHead(answer.statusCode ?? 502, rest);
        answer.pipe(response);
      },
    );
    onward.once('error', () => {
      response.destroy();
      resolve();
    });
    onward.end(body);
  });
