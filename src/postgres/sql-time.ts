/** SQL for times, which cross into TypeScript as whole microseconds since the Unix epoch. */

/** timestamptz expression → bigint microseconds. */
export const toMicros = (expression: string): string => `(extract(epoch FROM ${expression}) * 1000000)::bigint`;

/** Expression of microseconds (a parameter, a number column) → timestamptz. */
export const toTimestamp = (expression: string): string => `to_timestamp(${expression}::float8 / 1000000.0)`;
