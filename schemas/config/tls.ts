/** Certificate of a server of ours: section `tls` of the receiver and of the operations port. */
import { z } from 'zod';

export const tlsSchema = z.strictObject({
  cert_file: z.string().min(1).describe('Certificate chain, PEM; read again when it changes.'),
  key_file: z.string().min(1).describe('Private key, PEM; read again when it changes.'),
});
