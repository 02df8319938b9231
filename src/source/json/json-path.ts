/** Dotted paths into parsed JSON, such as `meta.next_cursor`; empty = the value itself. */
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
