/** Where redirects point to: another origin, which counts clients that follow, and those that bring credentials. */
import { createServer, type Server } from 'node:http';
import type { Counters } from '../control/stats.ts';
import { closeServer, listen } from './ports.ts';

/** The other host; it listens only once a redirect points to it. */
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
