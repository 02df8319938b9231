/** A server of HTTP on a free port of this machine, whose answers a test writes itself. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type RequestOptions, request } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Has a server listen on a free port of this machine. @returns the port */
export const listenOn = async (server: Pick<Server, 'listen' | 'address'>): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

export const listen = async (answer: RequestListener) => {
  const server = createServer(answer);
  const port = await listenOn(server);
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    close: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Status of the answer to a POST. fetch does not let a test choose Host and Origin. */
export const postTo = async (url: string, headers: RequestOptions['headers'], body = '') => {
  const asked = request(url, { method: 'POST', headers }).end(body);
  // It may be closed before all of the body is sent.
  asked.on('error', () => undefined);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return answer.resume().statusCode;
};
