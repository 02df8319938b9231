/** Whether the service signed a delivery: the check of `X-Service-Signature` over the raw bytes of the body. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Give the bytes as they came: JSON that was parsed and written again has another signature. The comparison takes the
 * same time wherever the signatures differ.
 * @param signature the header; undefined if there is none.
 */
export const isGenuine = (body: Uint8Array, signature: string | undefined, secret: string | Uint8Array): boolean => {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
};
