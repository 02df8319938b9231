/** Objects with fields that stay the JSON bytes in which they came, so that no parsed copy of a large one stays in memory. */

/** Has no names: unlike an object without a prototype, one with this prototype is no dictionary to V8. */
const nothing: object = Object.freeze(Object.create(null));

/** An empty object that inherits no names: fields named `constructor` or `__proto__` are fields like any other. */
export const bare = <T = unknown>(): Record<string, T> => Object.create(nothing) as Record<string, T>;

const encoded = Symbol('encoded fields');

type Holder = { readonly [encoded]?: Record<string, { readonly bytes: Buffer; readonly value: unknown }> };

const makeGetter = (name: string) =>
  function get(this: Holder): unknown {
    const field = this[encoded]?.[name];
    return field?.value === undefined ? JSON.parse(`${field?.bytes}`) : field.value;
  };

/** By the name of the field: objects with getters of their own would each have a layout of their own. */
const getters = new Map<string, ReturnType<typeof makeGetter>>();
/** Names of fields may come without end. */
const mostGetters = 500;

const getterOf = (name: string): ReturnType<typeof makeGetter> => {
  const get = getters.get(name) ?? makeGetter(name);
  if (getters.size < mostGetters) getters.set(name, get);
  return get;
};

/**
 * Defines a field of `target` by its bytes, as JSON.stringify would write them.
 * @param value where it is at hand; otherwise the bytes are parsed at every access.
 */
export const defineEncoded = (target: object, name: string, bytes: Buffer, value?: unknown): void => {
  if (!Object.hasOwn(target, encoded)) Object.defineProperty(target, encoded, { value: bare() });
  ((target as Holder)[encoded] as Record<string, unknown>)[name] = { bytes, value };
  Object.defineProperty(target, name, { enumerable: true, configurable: true, get: getterOf(name) });
};

/** The bytes of a field, if it has them. */
export const bytesOf = (from: object, name: string): Buffer | undefined => (from as Holder)[encoded]?.[name]?.bytes;

/** Fields of another object with their bytes, where a spread would parse each. @param target made by `bare` */
export const copyFields = (from: object, names: readonly string[], target = bare()): Record<string, unknown> => {
  for (const name of names) {
    const field = (from as Holder)[encoded]?.[name];
    if (field !== undefined) defineEncoded(target, name, field.bytes, field.value);
    else {
      // A getter cannot be assigned to.
      if (bytesOf(target, name) !== undefined) {
        Reflect.deleteProperty((target as Holder)[encoded] ?? {}, name);
        Reflect.deleteProperty(target, name);
      }
      target[name] = (from as Record<string, unknown>)[name];
    }
  }
  return target;
};

/** A copy with another value of a field; undefined = without the field. */
export const withField = (from: object, name: string, value: unknown): Record<string, unknown> => {
  const copy = bare();
  for (const key of new Set([...Object.keys(from), name]))
    if (key !== name) copyFields(from, [key], copy);
    else if (value !== undefined) copy[name] = value;
  return copy;
};
