/**
 * A gate before the simulated service. A test sets the number of requests that pass, so that work stops at a place and
 * not at a time.
 */
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

/** Open at first. Requests that may not pass wait; their clients need time-outs that are long enough. */
export const openGate = async (serviceUrl: string) => {
  const service = new URL(serviceUrl);
  const waiting = new Set<() => void>();
  let allowed = Number.POSITIVE_INFINITY;
  let passed = 0;

  const forward = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    passed += 1;
    const { method, headers, url } = incoming;
    const onward = request(new URL(url ?? '/', service), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  };
  const release = (): void => {
    for (const pass of waiting) {
      if (passed >= allowed) return;
      waiting.delete(pass);
      pass();
    }
  };
  const { url, close } = await listen((incoming, outgoing) => {
    const pass = (): void => forward(incoming, outgoing);
    waiting.add(pass);
    outgoing.on('close', () => waiting.delete(pass));
    release();
  });

  const allow = (total: number): void => {
    allowed = total;
    release();
  };
  return {
    /** Address to use in place of the service's. */
    url: `${url}${service.pathname}`,
    /** Requests that were let through so far. */
    passed: () => passed,
    /** Lets so many more pass. */
    grant: (requests: number) => allow(allowed + requests),
    /** Nothing passes but what is granted from now on. */
    shut: () => allow(passed),
    open: () => allow(Number.POSITIVE_INFINITY),
    close,
  };
};
