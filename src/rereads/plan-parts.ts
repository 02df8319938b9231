/** Which windows to re-read now: pure, from the bands and from what was covered before. All times in microseconds. */
import { type Interval, subtract, unite } from '../lib/intervals.ts';
import type { AgeBand, Horizon } from './learn-horizon.ts';

export interface CoveredBand {
  readonly band: number;
  readonly kind: 'all' | 'sample';
  /** Changes made before this instant have been looked for. */
  readonly coveredAt: number;
}

export interface RereadRules {
  readonly delay: number;
  readonly maxHorizon: number;
  /** Share of the windows beyond the horizon that is re-read all the same, 0 to 1. */
  readonly sample: number;
}

export interface RereadPart extends Interval {
  /** When these calls were last looked at; null = long ago. */
  readonly since: number | null;
  /** 1 / the share of windows that are read like this one. */
  readonly weight: number;
}

export interface RereadPlan {
  readonly parts: readonly RereadPart[];
  /** What is covered up to now once all parts are read. */
  readonly covers: readonly Omit<CoveredBand, 'coveredAt'>[];
}

const hour = 3_600_000_000;
/** Grid of the sample: a window is in it for good or never, so that its calls are looked at again and again. */
const cell = hour;

/** How often planning should run so that nothing waits longer than `delay`. */
export const planningInterval = (delay: number): number => Math.min(hour, Math.max(60_000_000, delay / 12));

/** A fixed, even choice of windows, the same in every run. */
const isSampled = (from: number, share: number): boolean => {
  let hash = Math.imul(Math.floor(from / cell) ^ 0x9e3779b9, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 16), 0x27d4eb2f);
  return ((hash ^ (hash >>> 15)) >>> 0) / 0x1_0000_0000 < share;
};

/** Where the calls are that had the ages of a band at some time since `coveredAt`. */
const rangeOf = (band: AgeBand, coveredAt: number, now: number): Interval => ({
  from: coveredAt - band.to,
  to: now - band.from,
});

/** Bands, with the instant up to which changes of each have been looked for. */
interface Coverage {
  readonly bands: readonly AgeBand[];
  readonly coveredAt: (band: AgeBand) => number;
}

/** Bands within the horizon: every window. What was missed for longer than usual is read too, but its changes have no time. */
const planAll = ({ bands, coveredAt }: Coverage, now: number, delay: number): RereadPart[] => {
  const inTime = bands.filter((band) => coveredAt(band) >= now - 2 * delay);
  const missed = bands.filter((band) => coveredAt(band) < now - 2 * delay);
  const since = Math.min(now, ...inTime.map(coveredAt));
  const regular = unite(inTime.map((band) => rangeOf(band, coveredAt(band), now)));
  const late = subtract(
    missed.map((band) => rangeOf(band, coveredAt(band), now)),
    regular,
  );
  return [
    ...regular.map((range) => ({ ...range, since, weight: 1 })),
    ...late.map((range) => ({ ...range, since: null, weight: 1 })),
  ];
};

/** Bands beyond the horizon: the sampled windows that are not read anyway. */
const planSample = (
  { bands, coveredAt }: Coverage,
  now: number,
  share: number,
  taken: readonly Interval[],
): RereadPart[] => {
  const since = Math.min(now, ...bands.map(coveredAt));
  const ranges = subtract(
    bands.map((band) => rangeOf(band, coveredAt(band), now)),
    taken,
  );
  const cells = ranges.flatMap((range) => cellsWithin(range).filter(({ from }) => isSampled(from, share)));
  return unite(cells).map((range) => ({ ...range, since, weight: 1 / share }));
};

/** The whole cells of the sample's grid in a range. */
const cellsWithin = (range: Interval): Interval[] => {
  const cells: Interval[] = [];
  for (let from = Math.ceil(range.from / cell) * cell; from + cell <= range.to; from += cell) {
    cells.push({ from, to: from + cell });
  }
  return cells;
};

/**
 * Plans one run: all bands of a kind when any of them is due before the next planning, none of them otherwise.
 * @param trackedSince when re-reading began: a band that joins late is caught up from there.
 */
export const planParts = (
  horizon: Horizon,
  states: readonly CoveredBand[],
  rules: RereadRules,
  { now, trackedSince }: { readonly now: number; readonly trackedSince: number },
): RereadPlan => {
  const { delay, maxHorizon, sample } = rules;
  const known = new Map(states.map((state) => [`${state.kind}:${state.band}`, state.coveredAt]));
  const dueBefore = now - delay + planningInterval(delay);
  const isDue = (kind: CoveredBand['kind'], bands: readonly AgeBand[]): boolean =>
    bands.some(({ band }) => (known.get(`${kind}:${band}`) ?? Number.NEGATIVE_INFINITY) <= dueBefore);

  const parts: RereadPart[] = [];
  const covers: RereadPlan['covers'][number][] = [];
  if (isDue('all', horizon.bands)) {
    const oldest = Math.max(trackedSince - delay, now - maxHorizon);
    const coveredAt = ({ band }: AgeBand) => known.get(`all:${band}`) ?? oldest;
    parts.push(...planAll({ bands: horizon.bands, coveredAt }, now, delay));
    covers.push(...horizon.bands.map(({ band }) => ({ band, kind: 'all' as const })));
  }
  if (sample > 0 && isDue('sample', horizon.beyond)) {
    const coveredAt = ({ band }: AgeBand) =>
      Math.max(known.get(`sample:${band}`) ?? known.get(`all:${band}`) ?? now - delay, now - 2 * delay);
    parts.push(...planSample({ bands: horizon.beyond, coveredAt }, now, sample, unite(parts)));
    covers.push(...horizon.beyond.map(({ band }) => ({ band, kind: 'sample' as const })));
  }
  return { parts: parts.sort((a, b) => b.to - a.to), covers };
};
