/** Listening and closing of HTTP servers as promises. */
import type { Server } from 'node:http';

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
