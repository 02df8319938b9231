/** Certificate and key of the receiver. */
import type { Server } from 'node:https';
import { type Certificate, readCertificate, reloadCertificate, type TlsFiles } from '../../certificate.ts';
import { terminal } from '../../errors.ts';
import type { FileWatch } from '../../file-watch.ts';
import { errorCode, type ReceiverLog } from './receiver-log.ts';

/** @throws CallsyncError WEBHOOK_TLS_INVALID */
export const openCertificate = (files: TlsFiles): Certificate => {
  const certificate = readCertificate(files);
  if (certificate === undefined) {
    throw terminal('WEBHOOK_TLS_INVALID', 'The certificate or key of the webhook receiver cannot be used.', {
      hint: 'Check that webhook.tls.cert_file and key_file exist, are PEM and belong together.',
    });
  }
  return certificate;
};

export const watchCertificate = (files: TlsFiles, server: Server, log: ReceiverLog): FileWatch =>
  reloadCertificate({
    files,
    server,
    onRead: () => log.info({}, 'Certificate read again.'),
    onError: (error) =>
      log.error({ code: errorCode(error) }, 'The changed certificate cannot be used; the one before stays in force.'),
  });
