/** Check of the port for health, readiness and metrics: served by a process of ours, or free for the next. */
import { createServer } from 'node:net';
import { Agent, fetch } from 'undici';
import type { Services } from '../../parts/services.ts';
import { type Check, type Finding, failed, ok, skipped } from './check.ts';

export const operationsCheck = ({ config: { operations } }: Pick<Services, 'config'>): Check => ({
  name: 'operations',
  run: async (signal) => {
    const { enabled, listen, port, tls } = operations;
    if (!enabled) return skipped('Not enabled (operations.enabled).');
    if (port === 0) return ok('Takes any free port.');
    const address = `${listen}:${port}`;
    if (await answersHealth({ listen, port, isTls: tls !== undefined }, signal))
      return ok(`Health answers on ${address}.`);
    const code = await findObstacle(listen, port);
    return code === undefined ? ok(`${address} is free for the next process.`) : describeObstacle(address, code);
  },
});

const describeObstacle = (address: string, code: string): Finding => {
  if (code === 'EADDRINUSE') {
    return failed(`Another program has ${address}.`, 'Set operations.port to one that is free, or operations.listen.');
  }
  return failed(
    `Health and metrics cannot be served on ${address} (${code}).`,
    'Set operations.listen to an address of this machine, and operations.port to one that this user may take.',
  );
};

const answerMs = 5_000;
/** By whatever certificate: it may name another host than this one. */
const anyCertificate = new Agent({
  connect: { rejectUnauthorized: false, timeout: answerMs },
  headersTimeout: answerMs,
  bodyTimeout: answerMs,
});

const answersHealth = async (
  { listen, port, isTls }: { readonly listen: string; readonly port: number; readonly isTls: boolean },
  signal: AbortSignal,
): Promise<boolean> => {
  const everywhere = listen === '0.0.0.0' || listen === '::';
  const host = everywhere ? '127.0.0.1' : listen.includes(':') ? `[${listen}]` : listen;
  try {
    const answer = await fetch(`${isTls ? 'https' : 'http'}://${host}:${port}/healthz`, {
      dispatcher: anyCertificate,
      signal,
    });
    return answer.ok && (await answer.text()).includes('"alive":true');
  } catch {
    return false;
  }
};

/** The code of the error with which the address is refused; undefined = it can be had. */
const findObstacle = (host: string, port: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
