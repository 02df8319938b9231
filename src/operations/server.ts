/** Health, readiness and metrics of a process on a port of their own: nobody who reaches the webhook reaches them. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { terminal } from '../errors.ts';
import { limitConnections, requestLimits } from './limit-connections.ts';
import { isSameText } from './page/access.ts';
import type { Page } from './page/page.ts';

export interface OperationsOptions {
  readonly listen: string;
  readonly port: number;
  readonly registry: Registry;
  /** Whether the process does its work; false is answered 503. */
  readonly ready: () => boolean;
  /** The token that /metrics asks for; undefined = none. Read at each request. */
  readonly token: (() => string) | undefined;
  /** The status page; absent where there is none. */
  readonly page?: Page | undefined;
}

export interface OperationsServer {
  /** Such as `http://127.0.0.1:9464`. */
  readonly address: string;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly body?: string;
}

const json = 'application/json; charset=utf-8';

/** @throws CallsyncError OPERATIONS_PORT_TAKEN */
export const serveOperations = async (options: OperationsOptions): Promise<OperationsServer> => {
  const { listen, port, registry } = options;
  const mayRead = (authorization = ''): boolean =>
    options.token === undefined || isSameText(authorization, `Bearer ${options.token()}`);

  const routes: Readonly<Record<string, (authorization?: string) => Answer | Promise<Answer>>> = {
    '/healthz': () => ({ status: 200, type: json, body: '{"alive":true}' }),
    '/readyz': () => {
      const ready = options.ready();
      return { status: ready ? 200 : 503, type: json, body: JSON.stringify({ ready }) };
    },
    '/metrics': async (authorization) =>
      mayRead(authorization)
        ? { status: 200, type: registry.contentType, body: await registry.metrics() }
        : { status: 401 },
  };

  const server = createServer(requestLimits, async (request, response) => {
    // A connection is for one request: idle ones would keep others out.
    response.setHeader('connection', 'close');
    const path = request.url?.split('?', 1)[0] ?? '';
    if (options.page?.serves(path)) {
      await options.page.handle(request, response).catch(() => failed(response));
      return;
    }
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (route === undefined) return response.writeHead(404).end();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return response.writeHead(405, { allow: 'GET, HEAD' }).end();
    }
    try {
      const { status, type, body } = await route(request.headers.authorization);
      return response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(body);
    } catch {
      return failed(response);
    }
  });
  limitConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        terminal('OPERATIONS_PORT_TAKEN', `Health and metrics cannot be served on ${listen}:${port}.`, {
          hint: 'Set operations.listen and operations.port to an address of this machine that is free.',
          cause: error,
        }),
      ),
    );
    server.listen(port, listen, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async close() {
      options.page?.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};

const failed = (response: ServerResponse): void => {
  if (response.headersSent) response.destroy();
  else response.writeHead(500).end();
};
