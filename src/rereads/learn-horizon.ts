/** Which ages are worth re-reading: pure, from how late calls were seen to change. All times in microseconds. */
import { dayMicros as day } from '../lib/day.ts';
import { bucketEdges, bucketOf } from './age-buckets.ts';

export interface LateBucket {
  readonly bucket: number;
  /** Changes seen. */
  readonly changes: number;
  /** The same, each divided by the share of windows in which it could have been seen. */
  readonly weight: number;
}

export interface HorizonRules {
  /** Fixed horizon; undefined = learned. */
  readonly horizon: number | undefined;
  /** Share of changes to be caught. */
  readonly share: number;
  readonly maxHorizon: number;
  /** Within what time after the change. */
  readonly delay: number;
}

export interface AgeBand {
  /** Its bucket. */
  readonly band: number;
  /** Ages `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

export interface Horizon {
  /** Bands to be re-read once per `delay`, youngest first; a gap is an age at which hardly anything changes. */
  readonly bands: readonly AgeBand[];
  /** Bands beyond, up to the longest horizon: only sampled windows of them are re-read. */
  readonly beyond: readonly AgeBand[];
  /** Oldest age that is re-read. */
  readonly horizon: number;
  readonly changes: number;
  /** Share of the changes whose age is in `bands`; null before any was seen. */
  readonly expectedShare: number | null;
}

/**
 * What is believed before anything was seen: this many changes, spread evenly over the buckets of a month. They keep
 * the horizon long until the evidence outweighs them.
 */
const priorChanges = 3;
const priorReach = 30 * day;

const bandsUpTo = (limit: number): AgeBand[] => {
  const bands: AgeBand[] = [];
  for (let band = 0; bucketEdges(band).from < limit; band += 1) {
    const { from, to } = bucketEdges(band);
    bands.push({ band, from, to: Math.min(to, limit) });
  }
  return bands;
};

/** Leaves out bands, those with fewest changes per day of age first, while the changes left out stay within 1 − share. */
const chooseBands = (
  all: readonly AgeBand[],
  weights: ReadonlyMap<number, number>,
  total: number,
  rules: HorizonRules,
): ReadonlySet<number> => {
  const priorReachBand = bucketOf(Math.min(priorReach, rules.maxHorizon) - 1);
  const mass = ({ band }: AgeBand): number =>
    (weights.get(band) ?? 0) + (band <= priorReachBand ? priorChanges / (priorReachBand + 1) : 0);
  const reachable = all.reduce((sum, { band }) => sum + (weights.get(band) ?? 0), 0);
  let allowance = (1 - rules.share) * (total + priorChanges) - (total - reachable);
  const chosen = new Set(all.map(({ band }) => band));
  const density = (band: AgeBand): number => mass(band) / (band.to - band.from);
  for (const band of [...all].sort((a, b) => density(a) - density(b) || b.band - a.band)) {
    allowance -= mass(band);
    if (allowance < 0) break;
    chosen.delete(band.band);
  }
  return chosen;
};

/** A re-reading covers everything that was made within `delay` anyway, so shorter gaps cost nothing. */
const fillGaps = (all: readonly AgeBand[], chosen: ReadonlySet<number>, delay: number): readonly AgeBand[] => {
  const filled: AgeBand[] = [];
  let gap: AgeBand[] = [];
  let end = 0;
  for (const band of all) {
    if (!chosen.has(band.band)) {
      gap.push(band);
      continue;
    }
    if (band.from - end < delay) filled.push(...gap);
    filled.push(band);
    gap = [];
    end = band.to;
  }
  return filled;
};

/**
 * Chooses the bands of ages to be re-read: those in which most changes are found for the time that they span, until
 * `rules.share` of all changes is expected to be caught.
 * @param histogram changes by the bucket of their age, in any order.
 */
export const learnHorizon = (histogram: readonly LateBucket[], rules: HorizonRules): Horizon => {
  const weights = new Map(histogram.map(({ bucket, weight }) => [bucket, weight]));
  const total = histogram.reduce((sum, { weight }) => sum + weight, 0);
  const all = bandsUpTo(rules.maxHorizon);
  const bands =
    rules.horizon === undefined
      ? fillGaps(all, chooseBands(all, weights, total, rules), rules.delay)
      : bandsUpTo(Math.min(rules.horizon, rules.maxHorizon));
  const covered = new Set(bands.map(({ band }) => band));
  const caught = histogram.reduce((sum, { bucket, weight }) => sum + (covered.has(bucket) ? weight : 0), 0);
  return {
    bands,
    beyond: all.filter(({ band }) => !covered.has(band)),
    horizon: bands.at(-1)?.to ?? 0,
    changes: histogram.reduce((sum, { changes }) => sum + changes, 0),
    expectedShare: total === 0 ? null : caught / total,
  };
};
