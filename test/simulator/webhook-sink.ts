/** A receiver that records what arrives and answers as told. */
import { createServer } from 'node:http';

interface Received {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawNames: readonly string[];
  readonly body: Buffer;
  readonly at: number;
}

/** Status to answer, or `hang` to leave the request without an answer. */
export type Reaction = (received: Received, number: number) => number | 'hang';

export const startSink = async (react: Reaction = () => 200) => {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const rawNames = request.rawHeaders.filter((_, i) => i % 2 === 0);
      const one = {
        method: request.method ?? '',
        headers: request.headers,
        rawNames,
        body: Buffer.concat(chunks),
        at: performance.now(),
      };
      received.push(one);
      const status = react(one, received.length - 1);
      if (status !== 'hang') response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}/hook`, received, stop };
};
