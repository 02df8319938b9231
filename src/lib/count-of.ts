/** Counted things in sentences for people. */

/** `1 call`, `2 calls`, `0 deliveries`. */
export const countOf = (count: number, noun: string): string => `${count} ${nounOf(count, noun)}`;

/** The noun alone, where the number is written in another way. */
export const nounOf = (count: number, noun: string): string =>
  count === 1 ? noun : `${noun}s`.replace(/([^aeiou])ys$/, '$1ies');

/** How often each text is among the given ones. */
export const countEach = (all: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1);
  return counts;
};

/** Figures as an operator reads them. */

const number = new Intl.NumberFormat('en-US');

/** With separators between thousands. */
export const formatCount = (count: number): string => number.format(Math.round(count));
export const formatShare = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/** Such as `41 s`, `12 min`, `3.5 h`, `2.0 days`; `–` for null. */
export const formatSpan = (seconds: number | null): string => {
  if (seconds === null) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 100) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} h` : `${(seconds / 86_400).toFixed(1)} days`;
};

/** UTC, to the second. */
export const formatInstant = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** Of a backfill; null until a hundredth is read, and where nothing more is to be read. */
export const secondsLeft = (progress: {
  readonly state: string;
  readonly share: number;
  readonly startedAt: number;
}) => {
  const { state, share, startedAt } = progress;
  if (state !== 'running' || share <= 0.01 || share === 1) return null;
  return (Math.max(1, Date.now() - startedAt) / 1000 / share) * (1 - share);
};
