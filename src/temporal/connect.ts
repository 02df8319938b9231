/**
 * Connections of clients to a Temporal cluster, with the TLS and API-key settings of the configuration. Workers connect in
 * `worker.ts`: their SDK takes a second to load, which commands that only ask should not wait for.
 */
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { ConnectionOptions } from '@temporalio/client';
import { Client, Connection, defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { TemporalConfig } from '../../schemas/config/temporal.ts';
import { isUntrusted, terminal, transient } from '../lib/errors.ts';
import { openSecret } from '../lib/secret.ts';

export const connectTimeoutMs = 10_000;

const readPem = (key: string, file: string | undefined): Buffer | undefined => openSecret({ key, file })?.readBytes();

/** Reads the present key, which its file may change; undefined where none is configured. */
export const apiKeyOf = (config: TemporalConfig) =>
  openSecret({ key: 'temporal.api_key', value: config.api_key, file: config.api_key_file })?.read;

/** Address and TLS for clients and workers. @throws CallsyncError for an unreadable file */
export const connectionOptions = (config: TemporalConfig, address: string) => {
  const { tls } = config;
  const cert = readPem('temporal.tls.cert', tls.cert_file);
  const key = readPem('temporal.tls.key', tls.key_file);
  const ca = readPem('temporal.tls.ca', tls.ca_file);
  const apiKey = apiKeyOf(config);
  const wanted = tls.enabled ?? (cert !== undefined || ca !== undefined || apiKey !== undefined);
  return {
    address,
    tls: wanted && {
      serverNameOverride: tls.server_name,
      serverRootCACertificate: ca,
      clientCertPair: cert && key && { crt: cert, key },
    },
  };
};

/** Codes of gRPC. */
const [notFound, permissionDenied, unauthenticated] = [5, 7, 16];

/** @throws CallsyncError TEMPORAL_NAMESPACE, TEMPORAL_REFUSED, TEMPORAL_UNREACHABLE, TEMPORAL_UNTRUSTED */
export const connectClient = async (config: TemporalConfig, address: string) => {
  const { namespace } = config;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({
      ...connectionOptions(config, address),
      // Asked for at each call, so that a key that was changed in its file takes effect.
      apiKey: apiKeyOf(config),
      connectTimeout: connectTimeoutMs,
      interceptors: [repeatWhileOpen],
    });
    await connection.workflowService.describeNamespace({ namespace });
    return { connection, client: new Client({ connection, namespace }) };
  } catch (cause) {
    await connection?.close();
    const { code } = cause as { code?: number };
    if (code === notFound)
      throw terminal('TEMPORAL_NAMESPACE', `${address} has no namespace ${namespace}.`, {
        hint: `Create it with temporal operator namespace create --address ${address} -n ${namespace}, or correct temporal.namespace.`,
        cause,
      });
    if (code === permissionDenied || code === unauthenticated)
      throw terminal('TEMPORAL_REFUSED', `${address} refuses access to the namespace ${namespace}.`, { cause });
    throw await explainUnreachable(config, address, cause);
  }
};

/**
 * gRPC of clients does not say that a certificate is not trusted, only that time has passed: a connection without it
 * does. Workers say so themselves, and are stricter: they refuse the certificate of a CA as that of a server.
 */
export const explainUnreachable = async (config: TemporalConfig, address: string, cause: unknown) => {
  const unreachable = transient('TEMPORAL_UNREACHABLE', `The Temporal server at ${address} does not answer.`, {
    hint: 'Start it or correct temporal.address and its TLS settings, then run callsync doctor.',
    cause,
  });
  if (/H2NotNegotiated/.test(String(cause)))
    return terminal('TEMPORAL_UNTRUSTED', `The TLS proxy at ${address} does not offer HTTP/2.`, {
      hint: 'Configure it to offer ALPN h2; workers refuse a connection without it.',
      cause,
    });
  const { tls } = connectionOptions(config, address);
  if (tls === false) return unreachable;
  const { hostname: host, port } = new URL(`https://${address}`);
  const { serverNameOverride: servername = host, serverRootCACertificate: ca } = tls;
  const socket = connect({ host, port: Number(port || 443), ca, ...(isIP(servername) === 0 && { servername }) });
  const signal = AbortSignal.timeout(connectTimeoutMs);
  const failure: unknown = await once(socket, 'secureConnect', { signal }).catch((error: unknown) => error);
  socket.destroy();
  const strict = /InvalidCertificate\((?:Other\(OtherError\()?(\w+)/.exec(String(cause))?.[1];
  const { code = '' } = failure as NodeJS.ErrnoException;
  const reason = isUntrusted(code) ? code : strict;
  if (reason !== undefined)
    return terminal('TEMPORAL_UNTRUSTED', `The TLS certificate of ${address} cannot be trusted (${reason}).`, {
      hint: 'Renew the certificate of the server, or name its CA in temporal.tls.ca_file and its name in temporal.tls.server_name.',
      cause,
    });
  return unreachable;
};

// Ends the SDK's retries with the connection. A retry on a closed connection would throw where no code can catch it,
// and end the process.

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Parameters<Interceptor>[1]>;

/** gRPC's status for a request that its caller cancelled; it is not repeated. */
const cancelled = 1;

/** Ends at once. */
const endedCall = (): Pick<Call, 'start' | 'sendMessage' | 'halfClose'> => ({
  start: (metadata, listener) =>
    listener?.onReceiveStatus?.({ code: cancelled, details: 'The connection was closed.', metadata }),
  sendMessage: () => undefined,
  halfClose: () => undefined,
});

const repeating = makeGrpcRetryInterceptor(defaultGrpcRetryOptions());

/** The first call on a closed connection throws to its caller; a repeated one ends as cancelled. */
export const repeatWhileOpen: Interceptor = (options, nextCall) => {
  let isFirst = true;
  return repeating(options, (own) => {
    if (isFirst) {
      isFirst = false;
      return nextCall(own);
    }
    try {
      return nextCall(own);
    } catch {
      return endedCall() as Call;
    }
  });
};
