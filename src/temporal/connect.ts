/** Connections to a Temporal cluster, with the TLS and API-key settings of the configuration. */
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { TemporalConfig } from '../../schemas/config/temporal.ts';
import { transient } from '../errors.ts';
import { openSecret } from '../secret.ts';

const connectTimeoutMs = 10_000;
const keyRefreshMs = 10_000;

const readPem = (key: string, file: string | undefined): Buffer | undefined => openSecret({ key, file })?.readBytes();

const apiKeyOf = (config: TemporalConfig) =>
  openSecret({ key: 'temporal.api_key', value: config.api_key, file: config.api_key_file })?.read;

const connectionOptions = (config: TemporalConfig, address: string) => {
  const { tls } = config;
  const cert = readPem('temporal.tls.cert', tls.cert_file);
  const key = readPem('temporal.tls.key', tls.key_file);
  const ca = readPem('temporal.tls.ca', tls.ca_file);
  const apiKey = apiKeyOf(config);
  const wanted = tls.enabled ?? (cert !== undefined || ca !== undefined || apiKey !== undefined);
  return {
    address,
    tls: wanted
      ? {
          ...(tls.server_name === undefined ? {} : { serverNameOverride: tls.server_name }),
          ...(ca === undefined ? {} : { serverRootCACertificate: ca }),
          ...(cert === undefined || key === undefined ? {} : { clientCertPair: { crt: cert, key } }),
        }
      : false,
  };
};

const unreachable = (address: string, cause: unknown) =>
  transient('TEMPORAL_UNREACHABLE', `The Temporal server at ${address} does not answer.`, {
    hint: 'Check that it runs and that temporal.address (and its TLS settings) are right.',
    cause,
  });

/** @throws CallsyncError TEMPORAL_UNREACHABLE */
export const connectClient = async (
  config: TemporalConfig,
  address: string,
): Promise<{ readonly client: Client; readonly connection: Connection }> => {
  try {
    const connection = await Connection.connect({
      ...connectionOptions(config, address),
      // Asked for at each call, so that a key that was changed in its file takes effect.
      apiKey: apiKeyOf(config),
      connectTimeout: connectTimeoutMs,
    });
    return { connection, client: new Client({ connection, namespace: config.namespace }) };
  } catch (cause) {
    throw unreachable(address, cause);
  }
};

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
