/** Objects with fields that stay the JSON bytes in which they came, so that no parsed copy of a large one stays in memory. */

/**
 * Defines a field of `target` by its bytes, as JSON.stringify would write them.
 * @param value where it is at hand; otherwise the bytes are parsed at every access.
 */
export const defineEncoded = (target: object, name: string, bytes: Buffer, value?: unknown): void => {
  const get = value === undefined ? (): unknown => JSON.parse(bytes.toString('utf8')) : () => value;
  Object.defineProperty(target, name, { enumerable: true, configurable: true, get: Object.assign(get, { bytes }) });
};

/** The bytes of a field, if it has them. */
export const bytesOf = (from: object, name: string): Buffer | undefined =>
  (Object.getOwnPropertyDescriptor(from, name)?.get as { readonly bytes?: Buffer } | undefined)?.bytes;

/** A field of another object, with its bytes. A field named `__proto__` is one like any other. */
export const copyField = (target: object, name: string, from: object): void => {
  Object.defineProperty(target, name, Object.getOwnPropertyDescriptor(from, name) as PropertyDescriptor);
};

/** A copy without a prototype, where a spread would parse each field. */
export const copyFields = <T extends object>(from: T): T =>
  Object.defineProperties(Object.create(null) as T, Object.getOwnPropertyDescriptors(from));

/** A copy with another value of a field; undefined = without the field. */
export const withField = <T extends object>(from: T, name: string, value: unknown): T => {
  const copy = copyFields(from);
  if (value === undefined) Reflect.deleteProperty(copy, name);
  else Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true });
  return copy;
};
