/**
 * Call times of which every call is processed before a test begins, those processed late (5 days, by default) too. With
 * the simulator's default range up to now, calls join its list while a test reads it, most of all in office hours.
 */
const day = 86_400_000;

export const settledRange = {
  from: new Date(Date.now() - 36 * day).toISOString(),
  to: new Date(Date.now() - 6 * day).toISOString(),
} as const;
