/** The connection of a worker to a Temporal cluster. */
import { NativeConnection } from '@temporalio/worker';
import type { TemporalConfig } from '../../schemas/config/temporal.ts';
import { apiKeyOf, connectionOptions, connectTimeoutMs, unreachable } from './connect.ts';

const keyRefreshMs = 10_000;

/**
 * A key that was changed in its file takes effect within `refreshMs`.
 * @throws CallsyncError TEMPORAL_UNREACHABLE
 */
export const connectWorker = async (
  config: TemporalConfig,
  address: string,
  options: { readonly refreshMs?: number } = {},
): Promise<NativeConnection> => {
  const readKey = apiKeyOf(config);
  const apiKey = readKey?.();
  let timer: NodeJS.Timeout | undefined;
  try {
    const connection = await Promise.race([
      NativeConnection.connect({ ...connectionOptions(config, address), ...(apiKey !== undefined && { apiKey }) }),
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('timed out')), connectTimeoutMs);
      }),
    ]);
    if (readKey !== undefined) followKey(connection, readKey, options.refreshMs ?? keyRefreshMs);
    return connection;
  } catch (cause) {
    throw unreachable(address, cause);
  } finally {
    clearTimeout(timer);
  }
};

const followKey = (connection: NativeConnection, readKey: () => string, refreshMs: number): void => {
  let key = readKey();
  const follow = async (): Promise<void> => {
    const current = readKey();
    if (current === key) return;
    await connection.setApiKey(current);
    key = current;
  };
  // A file that is being replaced, or a connection that was closed: the next time tells.
  setInterval(() => follow().catch(() => undefined), refreshMs).unref();
};
