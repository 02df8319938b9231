/** Assistants over streamable HTTP. */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import type { Access } from '../health/page/access.ts';
import { closeServer, originOf, type readCertificate } from '../lib/certificate.ts';

const path = '/mcp';
const sessionHeader = 'mcp-session-id';
const maxBodyBytes = 256 * 1024;
const limits = { requestTimeout: 60_000, headersTimeout: 10_000, maxHeaderSize: 16 * 1024 };
const maxConnections = 64;

/** Serves until `close`. Each request stands alone: there are no sessions. */
export const serveHttp = async (options: {
  readonly listen: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly tls: ReturnType<typeof readCertificate>;
  readonly access: Access;
  /** `user` is the name of the request's token; without one, the user is that of this process. */
  readonly assistantOf: (user?: string, session?: string) => McpServer;
  readonly onError: (error: Error) => void;
}): Promise<{ readonly url: string; close(): Promise<void> }> => {
  const { access, assistantOf, onError, tls } = options;
  const handler = createMcpHandler(({ authInfo, requestInfo }) =>
    assistantOf(authInfo?.clientId, requestInfo?.headers.get(sessionHeader) ?? undefined),
  );
  const answer = toNodeHandler(handler, { maxRequestBodySize: maxBodyBytes, onerror: onError });
  const serve = (request: IncomingMessage & { auth?: object }, response: ServerResponse): void => {
    const refusal = refuse(access, request);
    if (refusal !== undefined) {
      response.writeHead(refusal, refusal === 401 ? { 'www-authenticate': 'Bearer' } : {}).end();
      // The rest of the request stays unread.
      request.resume();
      return;
    }
    const user = access.actorOf(request);
    if (user !== undefined) request.auth = { token: '', clientId: user, scopes: [] };
    // Keeps no state: it joins the calls of a client, so that it can cancel its own.
    if (request.headers[sessionHeader] === undefined) response.setHeader(sessionHeader, randomUUID());
    answer(request as never, response).catch(onError);
  };
  const server = tls === undefined ? createServer(limits, serve) : createTlsServer({ ...limits, ...tls }, serve);
  server.maxConnections = maxConnections;
  await new Promise<void>((done, fail) => server.once('error', fail).listen(options.port, options.listen, done));
  const { port } = server.address() as AddressInfo;
  return {
    // By the name that was given: the certificate is for it.
    url: `${originOf(tls !== undefined, options.listen, port)}${path}`,
    close: async () => {
      await handler.close();
      await closeServer(server);
    },
  };
};

/** Status of a refusal. A browser says from which page a request comes: only our own address may be that page. */
const refuse = (access: Access, request: IncomingMessage): number | undefined => {
  const { origin, host } = request.headers;
  if (!access.isOurHost(request)) return 421;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return 403;
  if (!access.mayRead(request)) return 401;
  return (request.url ?? '').split('?', 1)[0] === path ? undefined : 404;
};
