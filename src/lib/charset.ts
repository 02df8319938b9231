/** Bodies in other charsets than UTF-8, in which JSON is read. */
import { isUtf8 } from 'node:buffer';

/** JSON in UTF-8 has neither the null bytes of UTF-16 nor the escapes of ISO-2022. */
const isPlainUtf8 = (body: Buffer): boolean => isUtf8(body) && !body.includes(0) && !body.includes(0x1b);

/**
 * The text of a body in UTF-8. A wrong name of a charset harms no text in UTF-8. Undefined if nobody knows the charset.
 * @param contentType the header; without a charset, it stands for UTF-8
 */
export const inUtf8 = (body: Buffer, contentType = ''): Buffer | undefined => {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  if (charset.toLowerCase() === 'utf-8') return body;
  try {
    const decoder = new TextDecoder(charset);
    return decoder.encoding === 'utf-8' || isPlainUtf8(body) ? body : Buffer.from(decoder.decode(body));
  } catch {
    return isUtf8(body) ? body : undefined;
  }
};
