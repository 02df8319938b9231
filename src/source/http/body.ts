/** Response bodies: decoded, bounded, and collected outside the JavaScript heap. */
import { pipeline, Readable, type Transform, Writable } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { terminal } from '../../lib/errors.ts';

/** Encodings that request headers offer. */
export const acceptEncoding = 'gzip, br';

/** Undefined for a body that came as it is. */
const decoderOf = (encoding: string | undefined): Transform | undefined => {
  const coding = (encoding ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity') return undefined;
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip();
  if (coding === 'br') return createBrotliDecompress();
  throw terminal(
    'RESPONSE_ENCODING',
    `The service answered in the encoding “${coding.slice(0, 20)}”, which nobody asked for.`,
    { hint: `Let it answer uncompressed or as one of: ${acceptEncoding}.` },
  );
};

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
  const decoder = decoderOf(rules.encoding);
  if ((rules.length ?? 0) > rules.maxBytes) throw tooLarge(rules.maxBytes);
  let wireBytes = 0;
  // Room beyond what is filled costs addresses, not memory, so it grows in few and wide steps: each copies.
  let room = Buffer.allocUnsafe(Math.max(1024, decoder === undefined ? (rules.length ?? 65_536) : 65_536));
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
  if (decoder === undefined) for await (const chunk of measured()) keep(chunk);
  else {
    await new Promise<void>((resolve, reject) => {
      pipeline([Readable.from(measured()), decoder, keepAll(keep)], (error) => {
        // Nothing at all is no broken stream.
        if (error && (wireBytes > 0 || error.code !== 'Z_BUF_ERROR')) reject(error);
        else resolve();
      });
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
