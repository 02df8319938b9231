/** Serves health, readiness and metrics of a process. */
import type { Registry } from 'prom-client';
import type { Config } from '../../schemas/config.ts';
import { CallsyncError } from '../errors.ts';
import type { Page } from '../operations/page/page.ts';
import { serveOperations } from '../operations/server.ts';
import { openSecret } from '../secret.ts';
import type { Services } from './services/services.ts';

/**
 * Returns the address, if this process has one.
 * @param input.portMayBeTaken several workers run on one host: all but the first go without.
 */
export const openOperations = async (
  services: Services<Pick<Config, 'operations'>>,
  input: {
    readonly registry: Registry;
    readonly ready: () => boolean;
    readonly portMayBeTaken?: boolean;
    /** The port is a wish: where another process has it, any will do. */
    readonly orAnyPort?: boolean;
    /** The status page; a process that does no work has none. */
    readonly page?: Page | undefined;
  },
): Promise<string | undefined> => {
  const { enabled, listen, port, tls, token_file: file } = services.config.operations;
  if (!enabled) return undefined;
  const { registry, ready, portMayBeTaken = false, orAnyPort, page } = input;
  const token = openSecret({ key: 'operations.token', file })?.read;
  try {
    const server = await serveOperations({ listen, port, orAnyPort, registry, ready, token, page, tls });
    services.defer(() => server.close());
    return server.address;
  } catch (error) {
    if (!portMayBeTaken || !(error instanceof CallsyncError)) throw error;
    services.log('health and metrics are not served: another process has the port', { port });
    return undefined;
  }
};
