/** What the receiver and its threads send each other. */
import type { PrivacyConfig } from '../../schemas/config/privacy.ts';

/** Buffers arrive as plain arrays of bytes. */
export type Bytes = Uint8Array;

export interface ThreadData {
  readonly config: PrivacyConfig;
  readonly token: Bytes;
  readonly former?: readonly Bytes[];
  readonly seal: Bytes | undefined;
}

export interface AdmittedBytes {
  readonly body: Bytes;
  readonly bodyHash: Bytes;
}

export const asBuffer = ({ buffer, byteOffset, byteLength }: Bytes): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
