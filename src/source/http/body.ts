/** Response bodies: decoded, bounded, and collected outside the JavaScript heap. */
import { pipeline, Readable, type Transform, Writable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { terminal } from '../../lib/errors.ts';

/** Encodings that request headers may offer. */
export const acceptEncoding = 'gzip, br, deflate';

const decoderOf = (coding: string, firstByte: number): Transform => {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'br':
      return createBrotliDecompress();
    case 'deflate':
      // Some servers mean zlib, as the standard says, others raw deflate.
      return (firstByte & 0x0f) === 0x08 ? createInflate() : createInflateRaw();
    default:
      throw terminal(
        'RESPONSE_ENCODING',
        `The service answered in the encoding “${coding.slice(0, 20)}”, which nobody asked for.`,
        {
          hint: `Let it answer uncompressed or as one of: ${acceptEncoding}.`,
        },
      );
  }
};

const codingsOf = (header: string | undefined): string[] =>
  (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');

interface CollectedBody {
  readonly body: Buffer;
  /** Bytes as they crossed the wire. */
  readonly wireBytes: number;
}

interface BodyRules {
  readonly encoding: string | undefined;
  readonly length: number | undefined;
  readonly maxBytes: number;
}

/** Collects a body, decoded; a body beyond `maxBytes`, on the wire or decoded, is terminal RESPONSE_TOO_LARGE. */
export const collectBody = async (source: Readable, rules: BodyRules): Promise<CollectedBody> => {
  const codings = codingsOf(rules.encoding).reverse();
  if (codings.length > 3) throw terminal('RESPONSE_ENCODING', 'The service encoded its answer more than three times.');
  if ((rules.length ?? 0) > rules.maxBytes) throw tooLarge(rules.maxBytes);
  let wireBytes = 0;
  // Room beyond what is filled costs addresses, not memory, so it grows in few and wide steps: each copies.
  let room = Buffer.allocUnsafe(Math.max(1024, codings.length === 0 ? (rules.length ?? 65_536) : 65_536));
  let filled = 0;
  const keep = (chunk: Buffer): void => {
    if (filled + chunk.length > rules.maxBytes) throw tooLarge(rules.maxBytes);
    if (filled + chunk.length > room.length) {
      const larger = Buffer.allocUnsafe(Math.max(filled + chunk.length, Math.min(rules.maxBytes, room.length * 4)));
      room.copy(larger, 0, 0, filled);
      room = larger;
    }
    chunk.copy(room, filled);
    filled += chunk.length;
  };
  const measured = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      const bytes = chunk as Buffer;
      wireBytes += bytes.length;
      if (wireBytes > rules.maxBytes) throw tooLarge(rules.maxBytes);
      yield bytes;
    }
  };
  const chunks = measured();
  const first = await chunks.next();
  if (first.done) return { body: Buffer.alloc(0), wireBytes };
  const [outermost, ...inner] = codings;
  if (outermost === undefined) {
    keep(first.value);
    for await (const chunk of chunks) keep(chunk);
  } else {
    const all = async function* (): AsyncGenerator<Buffer> {
      yield first.value;
      yield* chunks;
    };
    const decoders = [decoderOf(outermost, first.value[0] ?? 0), ...inner.map((coding) => decoderOf(coding, 0x78))];
    await new Promise<void>((resolve, reject) => {
      pipeline([Readable.from(all()), ...decoders, keepAll(keep)], (error) => (error ? reject(error) : resolve()));
    });
  }
  return { body: room.subarray(0, filled), wireBytes };
};

const keepAll = (keep: (chunk: Buffer) => void): Writable =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      try {
        keep(chunk);
        done();
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });

const tooLarge = (maxBytes: number): Error =>
  terminal('RESPONSE_TOO_LARGE', `The service sent more than ${maxBytes} bytes in one response.`, {
    hint: 'Ask for smaller pages (source.list.pagination.size) or raise source.limits.max_response_bytes.',
  });
