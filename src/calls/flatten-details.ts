/** Rows of tags, metadata, udfs and contacts (interface §2.3 to §2.5). */
import { hash } from 'node:crypto';
import { byKey } from './clean.ts';
import { type FieldReader, isObject } from './field-reader.ts';
import { normalizePhone, parseDecimal } from './parse-values.ts';

export const flattenTags = (callId: string, at: number | null, tags: unknown, read: FieldReader): unknown[][] =>
  read.array(tags, 'tags').map((item, index) => {
    const field = `tags[${index}]`;
    const tag = read.element(item, field);
    const value = tag.value;
    return [
      callId,
      at,
      index,
      read.text(tag.unique_id, `${field}.unique_id`),
      read.text(tag.display_name, `${field}.display_name`),
      read.numberText(tag.confidence, `${field}.confidence`),
      read.text(tag.type, `${field}.type`),
      typeof value === 'boolean' ? value : null,
      typeof value === 'number' ? read.number(value, `${field}.value`) : null,
      typeof value === 'string' ? read.text(value, `${field}.value`) : null,
      read.freeJson(value, `${field}.value`),
    ];
  });

/** Longest metadata key that is kept whole: an index entry of the call id and the key has at most 2,704 bytes. */
const maxKeyLength = 512;
const maxKeyBytes = 1_024;

/** The beginning of a key and a hash of all of it, so that keys which begin alike stay two. */
const cutKey = (key: string): string => {
  const suffix = `~${hash('sha256', key).slice(0, 16)}`;
  let cut = key.slice(0, maxKeyLength - suffix.length).toWellFormed();
  while (Buffer.byteLength(cut) > maxKeyBytes - suffix.length) cut = cut.slice(0, cut.length - 16).toWellFormed();
  return cut + suffix;
};
const udfKey = /^UDF_(num|text)_(\d\d)$/;

export const flattenMetadata = (
  callId: string,
  at: number | null,
  metadata: unknown,
  read: FieldReader,
): { readonly rows: unknown[][]; readonly udfs: unknown[][]; readonly values: ReadonlyMap<string, string | null> } => {
  const values = new Map<string, string | null>();
  // In key order: which of two keys that are cut or cleaned to the same text stays must not depend on the sender.
  for (const [rawKey, rawValue] of Object.entries(read.object(metadata, 'metadata') ?? {}).sort(byKey)) {
    let key = read.clean(rawKey, 'metadata');
    if (key.length > maxKeyLength || key.length * 3 > maxKeyBytes) {
      if (key.length > maxKeyLength || Buffer.byteLength(key) > maxKeyBytes) {
        read.note('metadata', `a key longer than ${maxKeyLength} characters was cut`);
        key = cutKey(key);
      }
    }
    values.set(
      key,
      typeof rawValue === 'string' ? read.clean(rawValue, 'metadata value') : read.freeJson(rawValue, 'metadata value'),
    );
  }
  const rows: unknown[][] = [];
  const udfs: unknown[][] = [];
  for (const [key, value] of values) {
    rows.push([callId, at, key, value]);
    const match = udfKey.exec(key);
    if (match === null) continue;
    const kind = match[1] as string;
    const number = kind === 'num' && value !== null && value.trim() !== '' ? parseDecimal(value) : null;
    udfs.push([callId, at, kind, Number(match[2]), number ?? null, value, number === undefined]);
  }
  return { rows, udfs, values };
};

/** One row, or null when the call has no such contact. */
export const flattenContact = (
  callId: string,
  at: number | null,
  side: 'in' | 'out',
  contact: unknown,
  read: FieldReader,
): (string | number | null)[] | null => {
  if (contact == null) return null;
  if (!isObject(contact)) return read.note(side, 'expected an object');
  const data = read.text(contact.data, `${side}.data`);
  const type = read.text(contact.type, `${side}.type`);
  const phone = type === 'PHONE' && data !== null ? (normalizePhone(data) ?? null) : null;
  return [callId, at, side, read.text(contact.label, `${side}.label`), data, type, phone];
};
