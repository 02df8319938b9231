/**
 * Cuts zstd (RFC 8878) into pieces of at most one block, so that what comes out of a piece is bounded: 46 bytes can say
 * that they are a gigabyte, and each of four more bytes' repeats 128 KiB.
 */
import { terminal } from '../../errors.ts';

/** What every decoder takes without being told otherwise (`zstd --long=27`); the unpacker sets as much memory aside. */
const maxWindowBytes = 128 * 1024 * 1024;
const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a5;

/**
 * Bytes that are no zstd pass as they are: the unpacker says what is wrong with them.
 * @throws CallsyncError IMPORT_WINDOW_TOO_LARGE
 */
export async function* cutZstd(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const iterator = bytes[Symbol.asyncIterator]();
  const take = createTaker(iterator);
  try {
    for (;;) {
      const magic = await take(4);
      if (magic.length === 0) return;
      yield magic;
      const kind = magic.length < 4 ? 0 : magic.readUInt32LE(0);
      if (kind === frameMagic) yield* cutFrame(take);
      else if (kind >>> 4 === skippableMagic) yield* cutSkippable(take);
      else yield* { [Symbol.asyncIterator]: () => iterator };
    }
  } finally {
    await iterator.return?.();
  }
}

/** Takes as many bytes as are asked for; fewer at the end. */
type Take = (count: number) => Promise<Buffer>;

const createTaker = (iterator: AsyncIterator<Buffer>): Take => {
  let held: Buffer = Buffer.alloc(0);
  return async (count) => {
    while (held.length < count) {
      const next = await iterator.next();
      if (next.done === true) break;
      held = Buffer.concat([held, next.value]);
    }
    const taken = held.subarray(0, count);
    held = held.subarray(count);
    return taken;
  };
};

async function* cutFrame(take: Take): AsyncGenerator<Buffer> {
  const [descriptor = 0] = yield* pass(await take(1));
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const [windowDescriptor = 0] = isSingleSegment ? [] : yield* pass(await take(1));
  yield* pass(await take([0, 1, 2, 4][descriptor & 3] ?? 0));
  const size = yield* pass(await take(sizeFlag > 0 ? 1 << sizeFlag : Number(isSingleSegment)));
  checkWindow(
    isSingleSegment ? readSize(size) : (1 << (10 + (windowDescriptor >> 3))) * (1 + (windowDescriptor & 7) / 8),
  );
  for (;;) {
    const header = await take(3);
    const [first = 1, second = 0, third = 0] = header;
    const blockBytes = (first >> 3) | (second << 5) | (third << 13);
    const isRepeat = ((first >> 1) & 3) === 1;
    yield Buffer.concat([header, await take(isRepeat ? 1 : blockBytes)]);
    if ((first & 1) !== 0) break;
  }
  yield* pass(await take((descriptor & 4) === 0 ? 0 : 4));
}

async function* cutSkippable(take: Take): AsyncGenerator<Buffer> {
  const size = yield* pass(await take(4));
  for (let left = readSize(size); left > 0; ) {
    const piece = yield* pass(await take(Math.min(left, 64 * 1024)));
    if (piece.length === 0) return;
    left -= piece.length;
  }
}

async function* pass(piece: Buffer): AsyncGenerator<Buffer, Buffer> {
  yield piece;
  return piece;
}

/** Little-endian; sizes of two bytes count from 256. */
const readSize = (bytes: Buffer): number =>
  [...bytes].reduce((sum, byte, index) => sum + byte * 256 ** index, bytes.length === 2 ? 256 : 0);

const checkWindow = (bytes: number): void => {
  if (bytes <= maxWindowBytes) return;
  const mebibytes = Math.round(bytes / 1024 / 1024);
  throw terminal('IMPORT_WINDOW_TOO_LARGE', `The compressed file wants ${mebibytes} MiB of memory to be unpacked.`, {
    hint: 'Compress it again with a window of at most 128 MiB (zstd --long=27 or less).',
  });
};
