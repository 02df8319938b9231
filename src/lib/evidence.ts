/** Knowledge that comes in pieces: each field has its value at first, and the way in which it takes in a later one. */

interface Field<T> {
  readonly start: T;
  take(known: T, seen: T): T;
}

type Shape = Readonly<Record<string, Field<unknown>>>;

/** The knowledge of a shape. */
export type Known<S> = { readonly [K in keyof S]: S[K] extends Field<infer T> ? T : never };

/** A piece of it; a field that is undefined says nothing. */
export type Seen<S> = { readonly [K in keyof S]?: Known<S>[K] | undefined };

/** A field of a shape. */
export const field = <T>(start: T, take: Field<T>['take']): Field<T> => ({ start, take });

export const fields = {
  most: field(0, Math.max),
  least: field(Number.POSITIVE_INFINITY, Math.min),
  sum: field(0, (known, seen) => known + seen),
  /** How often in a row something was seen. */
  inARow: field(0, (known, seen) => (seen === 0 ? 0 : known + seen)),
  once: field<boolean>(false, (known, seen) => known || seen),
  always: field<boolean>(true, (known, seen) => known && seen),
  latest: <T>(start: T): Field<T> => field(start, (_, seen) => seen),
};

/** Where knowledge outlives a process. */
export interface Memory<T> {
  read(): Promise<T | undefined>;
  keep(value: T): Promise<unknown>;
}

/** Nothing is seen yet. */
export const startOf = <S extends Shape>(shape: S): Known<S> =>
  Object.fromEntries(Object.entries(shape).map(([name, { start }]) => [name, start])) as Known<S>;

/** The knowledge with one more piece. */
export const takeIn = <S extends Shape>(shape: S, known: Known<S>, seen: Seen<S>): Known<S> => {
  const next: Record<string, unknown> = { ...known };
  for (const [name, value] of Object.entries(seen))
    if (value !== undefined) next[name] = shape[name]?.take(next[name], value);
  return next as Known<S>;
};
