/** A day, as timers count it and as instants are counted in warehouses. */
export const dayMs = 86_400_000;
export const dayMicros = 86_400_000_000;

/** The UTC date (`YYYY-MM-DD`) of an instant in milliseconds. */
export const dateOf = (ms: number): string => new Date(Math.floor(ms)).toISOString().slice(0, 10);
