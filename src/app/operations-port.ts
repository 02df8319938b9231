/** The port of a process for its health, metrics and status page. */
import type { Config } from '../../schemas/config.ts';
import { serveOperations } from '../health/page/server.ts';
import { openSecret } from '../lib/secret.ts';
import type { Services } from './services.ts';

/** Returns the address, if this process has one. */
export const openOperations = async (
  services: Services<Pick<Config, 'operations'>>,
  parts: Pick<Parameters<typeof serveOperations>[0], 'orAnyPort' | 'page' | 'ready' | 'registry'>,
): Promise<string | undefined> => {
  const { enabled, listen, port, tls, token_file: file } = services.config.operations;
  if (!enabled) return undefined;
  const token = openSecret({ key: 'operations.token', file })?.read;
  const server = await serveOperations({ ...parts, listen, port, token, tls });
  services.defer(() => server.close());
  return server.address;
};
