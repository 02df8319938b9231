/** How commands tell times: in ISO 8601, UTC, whatever they are inside. */

/** @param micros since the epoch. */
export const iso = (micros: number): string => new Date(micros / 1000).toISOString();

/** Members that are microseconds since the epoch wherever they are numbers. */
const times: ReadonlySet<string> = new Set(['at', 'from', 'to']);

/** What is printed with --json, its times told. @param value of which JSON can be made. */
export const tellTimes = (value: object): unknown =>
  JSON.parse(JSON.stringify(value), (name, inner: unknown) =>
    typeof inner === 'number' && times.has(name) ? iso(inner) : inner,
  );
