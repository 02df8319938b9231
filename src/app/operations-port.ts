/** The port of a process for its health, metrics and status page. */
import type { Config } from '../../schemas/config.ts';
import { serveOperations } from '../health/page/server.ts';
import { CallsyncError } from '../lib/errors.ts';
import { openSecret } from '../lib/secret.ts';
import type { Services } from './services.ts';

/**
 * Returns the address, if this process has one.
 * @param input.portMayBeTaken several workers run on one host: all but the first go without.
 */
export const openOperations = async (
  services: Services<Pick<Config, 'operations'>>,
  input: Pick<Parameters<typeof serveOperations>[0], 'orAnyPort' | 'page' | 'ready' | 'registry'> & {
    readonly portMayBeTaken?: boolean;
  },
): Promise<string | undefined> => {
  const { enabled, listen, port, tls, token_file: file } = services.config.operations;
  if (!enabled) return undefined;
  const { portMayBeTaken = false, ...parts } = input;
  const token = openSecret({ key: 'operations.token', file })?.read;
  try {
    const server = await serveOperations({ ...parts, listen, port, token, tls });
    services.defer(() => server.close());
    return server.address;
  } catch (error) {
    if (!portMayBeTaken || !(error instanceof CallsyncError)) throw error;
    services.log('health and metrics are not served: another process has the port', { port });
    return undefined;
  }
};
