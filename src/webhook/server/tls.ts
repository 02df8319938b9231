/** Certificate and key of the receiver, read again when their files change. */
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { terminal } from '../../errors.ts';
import { type FileContents, type FileWatch, readFiles, watchFiles } from './file-watch.ts';
import { errorCode, type ReceiverLog } from './receiver-log.ts';

export interface TlsFiles {
  readonly cert_file: string;
  readonly key_file: string;
}

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Throws when a file cannot be read, or the two are not a certificate and its key. */
export const readCertificate = (files: TlsFiles): Certificate => {
  const certificate = pairOf(files, readFiles([files.cert_file, files.key_file]));
  if (certificate === undefined) {
    throw terminal('WEBHOOK_TLS_INVALID', 'The certificate or key of the webhook receiver cannot be used.', {
      hint: 'Check that webhook.tls.cert_file and key_file exist, are PEM and belong together.',
    });
  }
  return certificate;
};

/** Connections opened after a change use the new certificate; a pair that does not fit is left aside. */
export const reloadCertificate = (options: {
  files: TlsFiles;
  server: Server;
  log: ReceiverLog;
  intervalMs?: number;
}): FileWatch => {
  const { files, server, log, intervalMs = 1_000 } = options;
  return watchFiles({
    initial: readFiles([files.cert_file, files.key_file]),
    intervalMs,
    onChange: (contents) => {
      const certificate = pairOf(files, contents, (error) =>
        log.error({ code: errorCode(error) }, 'The changed certificate cannot be used; the one before stays in force.'),
      );
      if (certificate === undefined) return;
      server.setSecureContext(certificate);
      log.info({}, 'Certificate read again.');
    },
  });
};

const pairOf = (
  files: TlsFiles,
  contents: FileContents,
  onError: (error: unknown) => void = () => {},
): Certificate | undefined => {
  const cert = contents.get(files.cert_file);
  const key = contents.get(files.key_file);
  if (cert === undefined || key === undefined) return undefined;
  try {
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    onError(error);
    return undefined;
  }
};
