/** A receiver that records what arrives and answers as told. */
import { listen } from '../support/listen.ts';

interface Received {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Status to answer, or `hang` to leave the request without an answer. */
export type Reaction = (received: Received, number: number) => number | 'hang';

export const startSink = async (react: Reaction = () => 200) => {
  const received: Received[] = [];
  const { url, close } = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { method: request.method ?? '', headers: request.headers, body: Buffer.concat(chunks) };
      received.push(one);
      const status = react(one, received.length - 1);
      if (status !== 'hang') response.writeHead(status).end();
    });
  });
  return { url: `${url}/hook`, received, stop: close };
};
