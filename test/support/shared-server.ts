/** A door that test processes knock at: the server behind it starts with the first knock, and serves the whole run. */
import { listen } from './listen.ts';

/** With the answer to every knock. */
type SharedServer<Facts> = { readonly facts: Facts; dispose(): Promise<void> };

export const openDoor = async <Facts>(start: () => Promise<SharedServer<Facts>>) => {
  let shared: Promise<SharedServer<Facts>> | undefined;
  const { server, url, close } = await listen((_request, response) => {
    shared ??= start();
    shared.then(
      ({ facts }) => response.end(JSON.stringify(facts)),
      (cause: Error) => {
        response.statusCode = 500;
        response.end(cause.message);
      },
    );
  });
  server.requestTimeout = 0;
  return {
    url,
    async close() {
      await close();
      await (await shared?.catch(() => undefined))?.dispose();
    },
  };
};

export const knock = async <Facts>(url: string): Promise<Facts> => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Facts;
};
