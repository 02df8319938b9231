/** Which windows to re-read now: pure, from the bands and from what was covered before. All times in microseconds. */
import { type Interval, subtract, unite } from '../intervals.ts';
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

/** @param trackedSince when re-reading began: a band that joins late is caught up from there. */
export const planParts = (
  horizon: Horizon,
  states: readonly CoveredBand[],
  rules: RereadRules,
  { now, trackedSince }: { readonly now: number; readonly trackedSince: number },
): RereadPlan => {
  const coveredAt = new Map(states.map((state) => [`${state.kind}:${state.band}`, state.coveredAt]));
  const lately = now - rules.delay;
  const dueBefore = lately + planningInterval(rules.delay);
  const isDue = (kind: string, bands: readonly AgeBand[]): boolean =>
    bands.some(({ band }) => (coveredAt.get(`${kind}:${band}`) ?? Number.NEGATIVE_INFINITY) <= dueBefore);

  const parts: RereadPart[] = [];
  const covers: RereadPlan['covers'][number][] = [];
  let taken: Interval[] = [];
  if (isDue('all', horizon.bands)) {
    const oldest = Math.max(trackedSince - rules.delay, now - rules.maxHorizon);
    const regular: Interval[] = [];
    const late: Interval[] = [];
    let since = now;
    for (const band of horizon.bands) {
      const at = coveredAt.get(`all:${band.band}`) ?? oldest;
      (at >= lately - rules.delay ? regular : late).push(rangeOf(band, at, now));
      if (at >= lately - rules.delay) since = Math.min(since, at);
      covers.push({ band: band.band, kind: 'all' });
    }
    taken = unite(regular);
    parts.push(...taken.map((range) => ({ ...range, since, weight: 1 })));
    parts.push(...subtract(late, taken).map((range) => ({ ...range, since: null, weight: 1 })));
    taken = unite([...taken, ...late]);
  }
  if (rules.sample > 0 && horizon.beyond.length > 0 && isDue('sample', horizon.beyond)) {
    let since = now;
    const ranges = horizon.beyond.map((band) => {
      const at = Math.max(
        coveredAt.get(`sample:${band.band}`) ?? coveredAt.get(`all:${band.band}`) ?? lately,
        lately - rules.delay,
      );
      since = Math.min(since, at);
      covers.push({ band: band.band, kind: 'sample' });
      return rangeOf(band, at, now);
    });
    const cells: Interval[] = [];
    for (const range of subtract(ranges, taken)) {
      for (let from = Math.ceil(range.from / cell) * cell; from + cell <= range.to; from += cell) {
        if (isSampled(from, rules.sample)) cells.push({ from, to: from + cell });
      }
    }
    parts.push(...unite(cells).map((range) => ({ ...range, since, weight: 1 / rules.sample })));
  }
  return { parts: parts.sort((a, b) => b.to - a.to), covers };
};
