/**
 * Call times of which every call is processed before a test begins, those processed late (5 days, by default) too. With
 * the simulator's default range up to now, calls join its list while a test reads it, most of all in office hours.
 */
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

export const settledRange = { from: daysAgo(36), to: daysAgo(6) } as const;
