import type { IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { listen } from '../support/listen.ts';

/** By number of the request: the status to answer, or `hang` to leave it without an answer. */
export type Reaction = (number: number) => number | 'hang';

/** A receiver that records what arrives and answers as told, until the end of the test. */
export const startSink = async (react: Reaction = () => 200) => {
  const received: { method?: string | undefined; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const { url, close } = await listen(async (request, response) => {
    const { method, headers } = request;
    received.push({ method, headers, body: Buffer.concat(await request.toArray()) });
    const status = react(received.length - 1);
    if (status !== 'hang') response.writeHead(status).end();
  });
  onTestFinished(close);
  return { url: `${url}/hook`, received };
};
