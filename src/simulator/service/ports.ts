/** Listening and closing of HTTP servers as promises. */
import { createServer, type Server } from 'node:http';
import type { Counters } from '../control/stats.ts';

/** The other host that redirects point to; it counts who follows and who brings a token, and listens only once a redirect points to it. */
export class RedirectTarget {
  private readonly server: Server;
  private readonly host: string;
  private origin: Promise<string> | undefined;

  constructor(host: string, counters: Counters) {
    this.host = host;
    this.server = createServer((request, response) => {
      counters.redirects.followed++;
      if (request.headers.authorization !== undefined) counters.redirects.withAuthorization++;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"count":0,"data":[]}');
    });
  }

  start(): Promise<string> {
    this.origin ??= listen(this.server, 0, this.host).then((port) => `http://${this.host}:${port}`);
    return this.origin;
  }

  async close(): Promise<void> {
    if (this.origin !== undefined) await closeServer(this.server);
  }
}

/** Listens on a port; 0 lets the system choose. Resolves to the port. Rejects when it is taken. */
export const listen = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve((server.address() as { port: number }).port));
  });

/** Closes the server and cuts its connections off. */
export const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
