/** A day, as timers count it and as instants are counted in warehouses. */
export const dayMs = 86_400_000;
export const dayMicros = 86_400_000_000;
