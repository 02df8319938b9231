/** Servers: a preferred port, their end, and a certificate and key that are read again when their files change. */
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { Server } from 'node:https';
import type { AddressInfo, Server as NetServer } from 'node:net';
import { createSecureContext } from 'node:tls';
import { type FileContents, type FileWatch, readFiles, watchFiles } from './file-watch.ts';

/**
 * Listens on a port. With `orAny`, a taken port is replaced by one of the system. Looking for a free port first would
 * leave a race.
 * @throws the errors of `listen`.
 */
export const listenOnPort = async (port: number, orAny: boolean, listen: (port: number) => Promise<unknown>) => {
  try {
    await listen(port);
  } catch (error) {
    if (!orAny || (error as { code?: unknown }).code !== 'EADDRINUSE') throw error;
    await listen(0);
  }
};

/** Such as `http://127.0.0.1:8780`. */
export const originOf = (isTls: boolean, host: string, port: number): string =>
  `${isTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Where a server listens. */
export const serverAddress = (server: NetServer, isTls: boolean): string => {
  const { address, port } = server.address() as AddressInfo;
  return originOf(isTls, address, port);
};

/** Takes nothing new, and cuts off running requests. */
export const closeServer = async (server: HttpServer): Promise<void> => {
  const closed = once(server.close(), 'close');
  server.closeAllConnections();
  await closed;
};

export type TlsFiles = { readonly cert_file: string; readonly key_file: string };

export type Certificate = { readonly cert: Buffer; readonly key: Buffer };

/**
 * Undefined when a file cannot be read, or the two are not a certificate and its key.
 * @param onError is told why they are not.
 */
export const readCertificate = (
  { cert_file, key_file }: TlsFiles,
  onError: (error: unknown) => void = () => {},
  contents: FileContents = readFiles([cert_file, key_file]),
): Certificate | undefined => {
  const [cert, key] = [contents.get(cert_file), contents.get(key_file)];
  if (cert === undefined || key === undefined) return undefined;
  try {
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    onError(error);
    return undefined;
  }
};

/**
 * Connections opened after a change use the new certificate; a pair that does not fit is left aside.
 * @param options.onError is told why it does not fit.
 */
export const reloadCertificate = (options: {
  readonly files: TlsFiles;
  readonly server: Server;
  readonly onRead: () => void;
  readonly onError: (error: unknown) => void;
}): FileWatch => {
  const { files, server, onRead, onError } = options;
  return watchFiles({
    initial: readFiles([files.cert_file, files.key_file]),
    intervalMs: 1_000,
    onChange: (contents) => {
      const certificate = readCertificate(files, onError, contents);
      if (certificate === undefined) return;
      server.setSecureContext(certificate);
      onRead();
    },
  });
};
