/**
 * Fields kept as JSON bytes. A transcript is nearly all of a call: it is hashed and stored as it came, and parsed only
 * when its value is read.
 */

/** Bytes that JSON.stringify would write for the field's value, by field. */
export type EncodedFields = ReadonlyMap<string, Buffer>;

/** Makes a field of `target` that parses the bytes at every access, so that nothing holds on to what they say. */
export const defineEncoded = (target: object, name: string, bytes: Buffer): void => {
  Object.defineProperty(target, name, {
    enumerable: true,
    configurable: true,
    get: (): unknown => JSON.parse(bytes.toString('utf8')),
    set(this: object, value: unknown) {
      Object.defineProperty(this, name, { value, enumerable: true, configurable: true, writable: true });
    },
  });
};
