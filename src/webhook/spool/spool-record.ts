/**
 * A delivery as a record of a spool file:
 * `CSR1` · length of meta (u32) · length of body (u32) · SHA-256 over both lengths, meta and body · meta (JSON) · body.
 */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Delivery } from '../../store/delivery/inbox-writer.ts';

const magic = Buffer.from('CSR1');
const headBytes = magic.length + 8 + 32;
/** No record is larger: more than this in a length field is damage. */
const largestPart = 1024 * 1024 * 1024;

type Meta = readonly [
  arrivalId: string,
  deliveryId: string | null,
  hookId: string | null,
  agent: string | null,
  receivedAtMs: number,
  signingKey: string | null,
  bodyHash: string,
  /** Why the store refused it, where it is parked. */
  reason?: string | null,
  privacyVersion?: string,
];

/** @param reason why the store refused the delivery, for a person who opens a parked file; never read back. */
export const encodeRecord = (delivery: Delivery, reason?: string): Buffer => {
  const meta: [...Meta] = [
    delivery.arrivalId,
    delivery.deliveryId,
    delivery.hookId,
    delivery.agent,
    delivery.receivedAt.getTime(),
    delivery.signingKey,
    delivery.bodyHash.toString('base64'),
  ];
  const { privacyVersion } = delivery;
  if (reason !== undefined || privacyVersion !== undefined) meta.push(reason ?? null);
  if (privacyVersion !== undefined) meta.push(privacyVersion);
  const metaBytes = Buffer.from(JSON.stringify(meta));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(metaBytes.length, 0);
  lengths.writeUInt32BE(delivery.body.length, 4);
  return Buffer.concat([magic, lengths, checksum(lengths, metaBytes, delivery.body), metaBytes, delivery.body]);
};

export interface ReadRecord {
  readonly delivery: Delivery;
  /** Offset of the byte behind the record. */
  readonly end: number;
}

/** The record that begins at `offset`; undefined when there is no whole and undamaged one. */
export const readRecord = async (
  file: FileHandle,
  offset: number,
  fileBytes: number,
): Promise<ReadRecord | undefined> => {
  if (offset + headBytes > fileBytes) return undefined;
  const head = await readExactly(file, offset, headBytes);
  if (head === undefined || !head.subarray(0, magic.length).equals(magic)) return undefined;
  const lengths = head.subarray(magic.length, magic.length + 8);
  const metaLength = lengths.readUInt32BE(0);
  const bodyLength = lengths.readUInt32BE(4);
  const end = offset + headBytes + metaLength + bodyLength;
  if (bodyLength > largestPart || end > fileBytes) return undefined;
  const content = await readExactly(file, offset + headBytes, metaLength + bodyLength);
  if (content === undefined) return undefined;
  const meta = content.subarray(0, metaLength);
  const body = content.subarray(metaLength);
  if (!checksum(lengths, meta, body).equals(head.subarray(magic.length + 8))) return undefined;
  return { delivery: toDelivery(JSON.parse(meta.toString('utf8')) as Meta, body), end };
};

/** Offset of the next undamaged record at or behind `offset`; undefined when there is none. */
export const findRecord = async (file: FileHandle, offset: number, fileBytes: number): Promise<number | undefined> => {
  const step = 1024 * 1024;
  for (let at = offset; at + headBytes <= fileBytes; at += step) {
    // The steps overlap by the magic's length, so that one across two steps is found.
    const bytes = await readExactly(file, at, Math.min(step + magic.length - 1, fileBytes - at));
    if (bytes === undefined) return undefined;
    for (let hit = bytes.indexOf(magic); hit !== -1; hit = bytes.indexOf(magic, hit + 1)) {
      if (await readRecord(file, at + hit, fileBytes)) return at + hit;
    }
  }
  return undefined;
};

const checksum = (lengths: Buffer, meta: Buffer, body: Buffer): Buffer => {
  return createHash('sha256').update(lengths).update(meta).update(body).digest();
};

const toDelivery = (meta: Meta, body: Buffer): Delivery => {
  const [arrivalId, deliveryId, hookId, agent, receivedAtMs, signingKey, bodyHash, , privacyVersion] = meta;
  return {
    arrivalId,
    deliveryId,
    hookId,
    agent,
    receivedAt: new Date(receivedAtMs),
    signingKey,
    body,
    bodyHash: Buffer.from(bodyHash, 'base64'),
    privacyVersion,
  };
};

const readExactly = async (file: FileHandle, offset: number, length: number): Promise<Buffer | undefined> => {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, offset + done);
    if (bytesRead === 0) return undefined;
    done += bytesRead;
  }
  return bytes;
};
