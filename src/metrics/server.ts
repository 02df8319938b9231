/** A separate listener for `/metrics`. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { terminal } from '../errors.ts';

export interface MetricsServer {
  /** Such as `http://127.0.0.1:9464/metrics`. */
  readonly address: string;
  close(): Promise<void>;
}

/** @throws CallsyncError METRICS_PORT_TAKEN */
export const serveMetrics = async (options: {
  registry: Registry;
  listen: string;
  port: number;
}): Promise<MetricsServer> => {
  const { registry, listen, port } = options;
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000 }, async (request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (path !== '/metrics') return response.writeHead(404).end();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return response.writeHead(405, { allow: 'GET, HEAD' }).end();
    }
    try {
      const text = await registry.metrics();
      return response.writeHead(200, { 'content-type': registry.contentType }).end(text);
    } catch {
      return response.writeHead(500).end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        terminal('METRICS_PORT_TAKEN', `Metrics cannot be served on ${listen}:${port}.`, {
          hint: 'Set metrics.listen and metrics.port to an address of this machine that is free.',
          cause: error,
        }),
      ),
    );
    server.listen(port, listen, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/metrics`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};
