/** Re-reads older windows by summary listings, because calls change late: how far back is learned from how late they did. */

import { createHash } from 'node:crypto';
import type { SyncSettings } from '../../../schemas/config/sync.ts';
import type { Observation } from '../../../schemas/observation.ts';
import { addTotals, planningInterval, type RereadTotals } from '../../../schemas/orchestration.ts';
import { type Interval, subtract, unite } from '../../lib/intervals.ts';
import { dayMicros as day } from '../../lib/timestamps.ts';
import { asLive } from '../../source/http/limiter.ts';
import { axisOf, boundStep, defaultAxis, isCuttable } from '../../source/list/list-query.ts';
import { observeCall } from '../../source/list/observe-call.ts';
import { readWindow } from '../../source/read/read-window.ts';
import { forgetAnswered, listRereads, type Reread, settleRereads } from '../../store/delivery/inbox.ts';
import * as late from '../../store/ledger/late-changes.ts';
import { readCallTimes } from '../../store/ledger/read-ledger.ts';
import { firstReadInstant } from '../../store/windows/windows.ts';
import type { LongRun, ReadDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';
import { chooseAxis } from './choose-axis.ts';
import { readChanged } from './read-changed.ts';
import { nextLength } from './read-range-part.ts';

type LateBasis = Parameters<typeof late.readLateChanges>[1];

interface RereadDeps extends ReadDeps, Pick<SyncSettings, 'reread'> {
  readonly now: () => Date;
}

const emptyRereadTotals: RereadTotals = { listed: 0, changed: 0, fetched: 0, requests: 0 };

/** The axis to reread, and the start of the age of a change. */
const rereadAxis = ({ source, processedField }: ReadDeps): { readonly axis: string; readonly basis: LateBasis } => {
  const chosen = chooseAxis(source.list.list, processedField);
  return {
    axis: chosen?.axis ?? defaultAxis(source.list.list).name,
    basis: chosen?.column === 'processed_at' ? 'processed' : 'timestamp',
  };
};

/**
 * Computed from the stored distribution and the stored times of earlier runs, never from the scheduled time.
 * `at` = microseconds: the instant that the plan is made for.
 */
export const planRereads = async (deps: RereadDeps) => {
  const { axis, basis } = rereadAxis(deps);
  const { store } = deps;
  const at = deps.now().getTime() * 1000;
  await late.compactLateChanges(store);
  const horizon = learnHorizon(await late.readLateChanges(store, basis), deps.reread);
  const plan = planParts(horizon, await late.readCoveredBands(store, axis), deps.reread, {
    now: at,
    trackedSince: await late.trackRereads(store, axis, at),
  });
  // A backfill reads the unread ranges.
  const begun = (await firstReadInstant(store)) ?? at;
  const parts = plan.parts
    .map((part) => ({ ...part, from: Math.max(part.from, begun) }))
    .filter((part) => part.from < part.to);
  return { covers: plan.covers, parts: joinUncut(deps, axis, parts), axis, at };
};

/** A list that cannot be cut is read whole for every part, so the parts become one. */
const joinUncut = (deps: ReadDeps, axis: string, parts: readonly RereadPart[]): readonly RereadPart[] => {
  const cuttable = isCuttable(axisOf(deps.source.list.list, axis));
  const whole = unite(parts.filter((part) => part.weight === 1));
  const [first] = whole;
  if (cuttable || first === undefined) return cuttable ? parts : [];
  return [{ from: first.from, to: whole.at(-1)?.to ?? first.to, since: null, weight: 1 }];
};

export interface RereadProgress {
  /** Index of the part that is being read; the parts before it are done. */
  readonly part: number;
  /** Microseconds up to which that part is read; null = it is not begun. */
  readonly doneTo: number | null;
  readonly totals: RereadTotals;
}

/**
 * Carries a plan out and records it as done; begins at `resume`.
 * @throws CallsyncError of the source or the store; nothing then counts as covered.
 */
export const rereadWindows = async (
  deps: RereadDeps,
  plan: Awaited<ReturnType<typeof planRereads>>,
  options: LongRun<RereadProgress>,
): Promise<RereadTotals> => {
  let { part: index, doneTo, totals } = options.resume ?? { part: 0, doneTo: null, totals: emptyRereadTotals };
  const cuttable = isCuttable(axisOf(deps.source.list.list, plan.axis));
  let length = cuttable ? deps.windows.initial : Number.POSITIVE_INFINITY;
  for (; index < plan.parts.length; index += 1) {
    const part = plan.parts[index] as RereadPart;
    for (let from = doneTo ?? part.from; from < part.to; ) {
      const to = Math.min(part.to, from + length);
      const reading = await readChanged(
        deps,
        {
          axis: plan.axis,
          range: { from, to },
          level: 'fields',
          confirm: 'later',
          origin: 'reread',
          late: { weight: part.weight, since: part.since },
        },
        options.signal,
      );
      const { listed, fetched, requests } = reading;
      totals = addTotals(totals, { listed, changed: reading.fresh.size + reading.changed.size, fetched, requests });
      if (cuttable) length = nextLength(to - from, reading.listed, deps);
      from = to;
      doneTo = to;
      options.onProgress({ part: index, doneTo, totals });
    }
    doneTo = null;
  }
  if (plan.covers.length > 0) await late.coverBands(deps.store, plan);
  return totals;
};

// Chooses the windows to re-read now: pure, from the bands and the earlier coverage. All times in microseconds.

type RereadRules = SyncSettings['reread'];

interface RereadPart extends Interval {
  /** Time of the last reading of these calls; null = long ago. */
  readonly since: number | null;
  /** 1 / the share of windows that are read like this one. */
  readonly weight: number;
}

/** Grid of the sample. A window stays in or out of it permanently, so that its calls are read again and again. */
const cell = 3_600_000_000;

/** A fixed, even choice of windows, the same in every run. */
const isSampled = (from: number, share: number): boolean =>
  createHash('sha256').update(String(from)).digest().readUInt32BE() < share * 2 ** 32;

/** Where the calls are that had the ages of a band at some time since `coveredAt`. */
const rangeOf = (band: AgeBand, coveredAt: number, now: number) => ({
  from: coveredAt - band.to,
  to: now - band.from,
});

/** Bands, with the instant up to which changes of each have been looked for. */
type Coverage = { readonly bands: readonly AgeBand[]; readonly coveredAt: (band: AgeBand) => number };

/**
 * Bands within the horizon: every window. Windows that were missed for long are read too, but their changes have no
 * time.
 */
const planAll = ({ bands, coveredAt }: Coverage, now: number, delay: number): RereadPart[] => {
  const inTime = bands.filter((band) => coveredAt(band) >= now - 2 * delay);
  const missed = bands.filter((band) => coveredAt(band) < now - 2 * delay);
  const since = Math.min(now, ...inTime.map(coveredAt));
  const rangeNow = (band: AgeBand): Interval => rangeOf(band, coveredAt(band), now);
  const regular = unite(inTime.map(rangeNow));
  const late = subtract(Array.from(missed, rangeNow), regular);
  return [
    ...regular.map((range) => ({ ...range, since, weight: 1 })),
    ...late.map((range) => ({ ...range, since: null, weight: 1 })),
  ];
};

/** Bands beyond the horizon: only the sampled windows. */
const planSample = ({ bands, coveredAt }: Coverage, now: number, share: number, taken: readonly Interval[]) => {
  const since = Math.min(now, ...bands.map(coveredAt));
  const ranges = bands.map((band) => rangeOf(band, coveredAt(band), now));
  const cells = subtract(ranges, taken).flatMap((range) =>
    cellsWithin(range).filter(({ from }) => isSampled(from, share)),
  );
  return unite(cells).map((range) => ({ ...range, since, weight: 1 / share }));
};

/** The whole cells of the sample's grid in a range. */
const cellsWithin = (range: Interval): Interval[] => {
  const cells: Interval[] = [];
  for (let from = Math.ceil(range.from / cell) * cell; from + cell <= range.to; from += cell)
    cells.push({ from, to: from + cell });
  return cells;
};

/**
 * Plans one run: all bands of a kind when any of them is due before the next planning, none of them otherwise.
 * @param trackedSince when re-reading began: a band that joins late is caught up from there.
 */
export const planParts = (
  horizon: ReturnType<typeof learnHorizon>,
  states: readonly late.CoveredBand[],
  { delay, maxHorizon, sample }: RereadRules,
  { now, trackedSince }: { readonly now: number; readonly trackedSince: number },
) => {
  const known = new Map(states.map((state) => [`${state.kind}:${state.band}`, state.coveredAt]));
  const dueBefore = now - delay + planningInterval(delay);
  const isDue = (kind: late.CoveredBand['kind'], bands: readonly AgeBand[]): boolean =>
    bands.some(({ band }) => (known.get(`${kind}:${band}`) ?? Number.NEGATIVE_INFINITY) <= dueBefore);

  const parts: RereadPart[] = [];
  /** Coverage up to now once all parts are read. */
  const covers: Omit<late.CoveredBand, 'coveredAt'>[] = [];
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

/** Ages `[from, to)`. */
interface AgeBand extends Interval {
  /** Bucket of the window. */
  readonly band: number;
}

/**
 * Prior: this many changes, spread evenly over the buckets of a month. This prior keeps the horizon long until the
 * evidence outweighs it.
 */
const priorChanges = 3;
const priorReach = 30 * day;

const bandsUpTo = (limit: number): AgeBand[] => {
  const bands: AgeBand[] = [];
  for (let band = 0; late.bucketEdges(band).from < limit; band += 1) {
    const { from, to } = late.bucketEdges(band);
    bands.push({ band, from, to: Math.min(to, limit) });
  }
  return bands;
};

/** The youngest bands that hold `rules.share` of all changes. */
const chooseBands = (all: readonly AgeBand[], weights: Map<number, number>, total: number, rules: RereadRules) => {
  const priorReachBand = late.bucketOf(Math.min(priorReach, rules.maxHorizon) - 1);
  const mass = ({ band }: AgeBand): number =>
    (weights.get(band) ?? 0) + (band <= priorReachBand ? priorChanges / (priorReachBand + 1) : 0);
  const reachable = all.reduce((sum, { band }) => sum + (weights.get(band) ?? 0), 0);
  let allowance = (1 - rules.share) * (total + priorChanges) - (total - reachable);
  const end = all.findLastIndex((band) => {
    allowance -= mass(band);
    return allowance < 0;
  });
  return all.slice(0, end + 1);
};

/**
 * The horizon of ages that covers `rules.share` of all changes.
 * @param histogram changes by the bucket of their age, in any order.
 */
export const learnHorizon = (
  histogram: readonly Awaited<ReturnType<typeof late.readLateChanges>>[number][],
  rules: RereadRules,
) => {
  const weights = new Map(histogram.map(({ bucket, weight }) => [bucket, weight]));
  const total = histogram.reduce((sum, { weight }) => sum + weight, 0);
  const all = bandsUpTo(rules.maxHorizon);
  const bands =
    rules.horizon === undefined
      ? chooseBands(all, weights, total, rules)
      : bandsUpTo(Math.min(rules.horizon, rules.maxHorizon));
  return {
    /** Bands to be re-read once per `delay`, youngest first. */
    bands,
    /** Older bands, up to the longest horizon. callsync re-reads only a sample of their windows. */
    beyond: all.slice(bands.length),
  };
};

// Reads single calls again whose webhook deliveries were doubtful: the API's answer decides.

const batch = 50;

/** Undefined where the list does not show the call where it should be. */
type Ask = (callId: string) => Promise<CallAnswer | undefined>;
type CallAnswer =
  | { readonly kind: 'observation'; readonly observation: Observation }
  /** `unaskable`: there is neither an endpoint for one call nor a time at which to look for it. */
  | { readonly kind: 'unknown' | 'rejected' | 'unaskable' };

/** Returns the number of calls that were read again, with calls that the API does not know. */
export const rereadCalls = (deps: ReadDeps, signal: AbortSignal) => asLive(() => rereadWaiting(deps, signal));

const rereadWaiting = async (deps: ReadDeps, signal: AbortSignal) => {
  const { store } = deps;
  const client = deps.source.list;
  let reread = 0;
  let failed = 0;
  await forgetAnswered(store);
  for (;;) {
    const requests = await listRereads(store, batch);
    if (requests.length === 0) return { reread, failed };
    const ask: Ask =
      client.list.single_path === undefined
        ? await askInWindows(deps, requests, signal)
        : (callId) => observeCall(client, callId, { signal });
    const done: Reread[] = [];
    const missed: Reread[] = [];
    const unaskable: Reread[] = [];
    const pipeline = createPipeline(deps);
    for (const request of requests) {
      signal.throwIfAborted();
      const answer = await ask(request.callId);
      const isAnswered = answer?.kind === 'observation' || answer?.kind === 'unknown';
      (isAnswered ? done : answer?.kind === 'unaskable' ? unaskable : missed).push(request);
      if (answer?.kind === 'observation') await pipeline.take({ observations: [answer.observation], origin: 'reread' });
    }
    await pipeline.finish();
    await settleRereads(store, { done, missed, unaskable });
    reread += done.length;
    failed += missed.length + unaskable.length;
    if (missed.length > 0) return { reread, failed };
  }
};

/** Without an endpoint for one call, it is searched among the calls of its instant. */
const askInWindows = async (deps: ReadDeps, requests: readonly Reread[], signal: AbortSignal): Promise<Ask> => {
  const client = deps.source.list;
  const chosen = chooseAxis(client.list, deps.processedField);
  if (chosen === undefined || !chosen.cuttable) return async () => ({ kind: 'unaskable' });
  const { axis, column } = chosen;
  const step = boundStep(client.list);
  const callIds = requests.map(({ callId }) => callId);
  const times = await readCallTimes(deps.store, column, callIds);
  return async (callId) => {
    const time = times.get(callId);
    if (time === undefined) return { kind: 'unaskable' };
    let answer: CallAnswer | undefined;
    await readWindow({
      client,
      window: { axis, from: time, to: Math.floor(time / step) * step + step },
      confirm: 'later',
      signal,
      onPage: (observations) => {
        const observation = observations.find((candidate) => candidate.callId === callId);
        if (observation !== undefined) answer = { kind: 'observation', observation };
      },
    });
    return answer;
  };
};
