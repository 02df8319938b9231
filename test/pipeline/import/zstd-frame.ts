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
