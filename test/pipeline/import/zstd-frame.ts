/** A zstd frame (RFC 8878) of raw blocks: valid for every reader, made without the tool, which may not be there. */
export const zstdFrame = (bytes: Buffer): Buffer => {
  const blockBytes = 64 * 1024;
  // No checksum, no content size, a window of 128 KiB (exponent 7 above 1 KiB).
  const parts: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3])];
  for (let at = 0; at === 0 || at < bytes.length; at += blockBytes) {
    const block = bytes.subarray(at, at + blockBytes);
    const header = Buffer.alloc(3);
    header.writeUIntLE((block.length << 3) | (at + blockBytes >= bytes.length ? 1 : 0), 0, 3);
    parts.push(header, block);
  }
  return Buffer.concat(parts);
};

/** Blocks of 128 KiB in four bytes each; with `contentBytes`, a frame that wants so much memory at once. */
export const zstdBomb = ({ blocks, contentBytes }: { blocks: number; contentBytes?: number }): Buffer => {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(contentBytes ?? 0);
  const head = contentBytes === undefined ? [0x00, 7 << 3] : [0xa0, ...size];
  const parts = Array.from({ length: blocks }, (_, index) => {
    const block = Buffer.alloc(4, '\n');
    block.writeUIntLE((0x20000 << 3) | (1 << 1) | (index === blocks - 1 ? 1 : 0), 0, 3);
    return block;
  });
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, ...head]), ...parts]);
};
