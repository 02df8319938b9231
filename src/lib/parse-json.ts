/** JSON that others wrote: parsed, looked into, or kept as bytes. */

/** The value of JSON bytes, a byte order mark aside; undefined when they are not JSON. */
export const parseQuietly = (bytes: Buffer): unknown => {
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
};

/** Whether a parsed JSON value is an object: neither null nor an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keys of a dotted path into parsed JSON, such as `meta.next_cursor`; empty = the value itself. */
export const pathKeys = (path: string): string[] => (path === '' ? [] : path.split('.'));

/** The value at a path, own properties only; undefined where it leads nowhere. */
export const valueAt = (value: unknown, path: string): unknown => {
  let current = value;
  for (const key of pathKeys(path)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
};
