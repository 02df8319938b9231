/** A door that test processes knock at: the server behind it starts with the first knock, and serves the whole run. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SharedServer<Facts> {
  /** The answer to every knock. */
  readonly facts: Facts;
  dispose(): Promise<void>;
}

export const openDoor = async <Facts>(start: () => Promise<SharedServer<Facts>>) => {
  let shared: Promise<SharedServer<Facts>> | undefined;
  const door = createServer((_request, response) => {
    shared ??= start();
    shared.then(
      (server) => response.end(JSON.stringify(server.facts)),
      (cause: Error) => {
        response.statusCode = 500;
        response.end(cause.message);
      },
    );
  });
  door.requestTimeout = 0;
  await new Promise<void>((done) => door.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
    async close() {
      door.close();
      await (await shared?.catch(() => undefined))?.dispose();
    },
  };
};

export const knock = async <Facts>(url: string): Promise<Facts> => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Facts;
};
