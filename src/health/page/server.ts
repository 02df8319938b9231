/** Health, readiness and metrics of a process on a separate port, which callers of the webhook cannot reach. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Registry } from 'prom-client';
import type { TlsFiles } from '../../lib/certificate.ts';
import { closeServer, listenOnPort, readCertificate, reloadCertificate, serverAddress } from '../../lib/certificate.ts';
import { terminal } from '../../lib/errors.ts';
import type { FileWatch } from '../../lib/file-watch.ts';
import { isSameText } from '../../lib/secret.ts';
import type { Answer, Page } from './page.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };

/** @throws CallsyncError OPERATIONS_PORT_TAKEN, OPERATIONS_TLS_INVALID */
export const serveOperations = async (options: {
  readonly listen: string;
  readonly port: number;
  /** If another process has the port, takes a free one. */
  readonly orAnyPort?: boolean | undefined;
  readonly registry: Registry;
  /** Whether the process does its work; false is answered 503. */
  readonly ready: () => boolean;
  /** The token that /metrics asks for; undefined = none. Read at each request. */
  readonly token: (() => string) | undefined;
  /** HTTPS with this certificate; plain HTTP without it. */
  readonly tls?: TlsFiles | undefined;
  /** The status page; absent where there is none. */
  readonly page?: Page | undefined;
}) => {
  const { listen, port, registry } = options;
  const mayRead = (authorization = ''): boolean =>
    options.token === undefined || isSameText(authorization, `Bearer ${options.token()}`);

  const routes: Readonly<Record<string, (authorization?: string) => Answer | Promise<Answer>>> = {
    '/healthz': () => ({ status: 200, headers: json, body: '{"alive":true,"program":"callsync"}' }),
    '/readyz': () => {
      const ready = options.ready();
      return { status: ready ? 200 : 503, headers: json, body: JSON.stringify({ ready }) };
    },
    '/metrics': async (authorization) =>
      mayRead(authorization)
        ? { status: 200, headers: { 'content-type': registry.contentType }, body: await registry.metrics() }
        : { status: 401 },
  };

  const find = async (request: IncomingMessage): Promise<Answer> => {
    const { url = '', method = '', headers } = request;
    const path = url.split('?', 1)[0] ?? '';
    const isOfPage = options.page?.serves(path) === true;
    if (!isOfPage && !Object.hasOwn(routes, path)) return { status: 404 };
    if (!['GET', 'HEAD'].includes(method) && options.page?.isAction(path) !== true)
      return { status: 405, headers: { allow: 'GET, HEAD' } };
    if (isOfPage) return await (options.page as Page).answer(request);
    return await (routes[path] as (typeof routes)[string])(headers.authorization);
  };

  const answer: RequestListener = async (request, response) => {
    // A connection is for one request: idle ones would keep others out.
    response.setHeader('connection', 'close');
    const { status, headers = {}, body } = await find(request).catch((): Answer => ({ status: 500 }));
    response.writeHead(status, headers).end(body);
  };
  const { server, watch } =
    options.tls === undefined ? { server: createServer(requestLimits, answer) } : openTls(options.tls, answer);
  limitConnections(server);
  const listenOn = (on: number) => once(server.listen(on, listen), 'listening');
  await listenOnPort(port, options.orAnyPort === true, listenOn).catch((cause) => {
    throw terminal('OPERATIONS_PORT_TAKEN', `Health and metrics cannot be served on ${listen}:${port}.`, { cause });
  });
  return {
    /** Such as `http://127.0.0.1:9464`. */
    address: serverAddress(server, options.tls !== undefined),
    async close() {
      watch?.close();
      await closeServer(server);
    },
  };
};

const openTls = (files: TlsFiles, answer: RequestListener): { server: Server; watch: FileWatch } => {
  const certificate = readCertificate(files);
  if (certificate === undefined)
    throw terminal('OPERATIONS_TLS_INVALID', 'The certificate or key of the operations port cannot be used.');
  const handshakeTimeout = requestLimits.headersTimeout;
  const server: TlsServer = createTlsServer({ ...requestLimits, ...certificate, handshakeTimeout }, answer);
  // A pair that does not fit is left aside: the earlier certificate stays in use.
  const watch = reloadCertificate({ files, server, onRead: () => undefined, onError: () => undefined });
  return { server, watch };
};

/** Connections open at once; of more, the oldest is closed. */
const mostOpen = 100;
/** Milliseconds for which a client may take nothing of its answer. */
const idleMs = 15_000;

/** Settings of the server itself: how large and how slow a request may be. */
const requestLimits = {
  maxHeaderSize: 8_192,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  // Node looks for requests that are late only every 30 s unless told otherwise.
  connectionsCheckingInterval: 1_000,
} as const;

/**
 * Limits the connections of the port. The port often shares its process with the receiver. A slow or greedy client
 * must cost deliveries little, and must not block a probe.
 */
const limitConnections = (server: Server): void => {
  const open = new Set<Socket>();
  server.timeout = idleMs;
  server.on('connection', (socket: Socket) => {
    const [oldest] = open;
    if (open.size >= mostOpen) oldest?.destroy();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
};
