/** The plain bytes of an import, whatever packs them: gzip, zstd or nothing, told by the first bytes, never by the name. */
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Decompress } from 'fzstd';
import { cutZstd } from './zstd-blocks.ts';

export type Bytes = AsyncIterable<Buffer>;
export type Packing = 'none' | 'gzip' | 'zstd';

/** Longest magic number looked at. */
export const magicBytes = 4;

export const packingOf = (head: Buffer): Packing => {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
  if (head.length >= 4 && head.readUInt32LE(0) === 0xfd2fb528) return 'zstd';
  return 'none';
};

/** The first `count` bytes (fewer at the end) and a stream that still begins with them. */
export const peek = async (bytes: Bytes, count: number): Promise<{ readonly head: Buffer; readonly rest: Bytes }> => {
  const iterator = bytes[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  for (let held = 0; held < count; ) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    chunks.push(value);
    held += value.length;
  }
  const rest = async function* (): AsyncGenerator<Buffer> {
    try {
      yield* chunks;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } finally {
      await iterator.return?.();
    }
  };
  return { head: Buffer.concat(chunks).subarray(0, count), rest: rest() };
};

/** Unpacks as it is read; memory holds a chunk. @throws the unpacker's error when the bytes are broken or cut off. */
export const unpack = (bytes: Bytes, packing: Packing): Bytes => {
  if (packing === 'gzip') {
    // pipeline, so that an error of the source ends the unpacking too; its error arrives through the iteration.
    return pipeline(Readable.from(bytes, { objectMode: false }), createGunzip(), () => undefined);
  }
  return packing === 'zstd' ? unzstd(bytes) : bytes;
};

async function* unzstd(bytes: Bytes): AsyncGenerator<Buffer> {
  let made: Buffer[] = [];
  const unpacker = new Decompress((chunk) => made.push(Buffer.from(chunk)));
  for await (const piece of cutZstd(bytes)) {
    // A copy, since the unpacker keeps what it cannot use yet.
    unpacker.push(new Uint8Array(piece));
    yield* made;
    made = [];
  }
  unpacker.push(new Uint8Array(0), true);
  yield* made;
}

/** The stream without its first `count` bytes. */
export async function* skip(bytes: Bytes, count: number): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of bytes) {
    const from = Math.min(left, chunk.length);
    left -= from;
    if (from < chunk.length) yield chunk.subarray(from);
  }
}
