/** Re-reads older windows by summary listings, because calls change late: how far back is learned from how late they did. */
import type { RereadTotals } from '../../../schemas/orchestration.ts';
import { unite } from '../../lib/intervals.ts';
import { type Horizon, type HorizonRules, learnHorizon } from '../../rereads/learn-horizon.ts';
import { planParts, type RereadPart, type RereadPlan, type RereadRules } from '../../rereads/plan-parts.ts';
import { axisOf, defaultAxis, isCuttable } from '../../source/list/list-query.ts';
import {
  compactLateChanges,
  finishRereadRun,
  type LateBasis,
  type RereadHistory,
  readCoveredBands,
  readLateChanges,
  readRereadHistory,
  trackRereads,
} from '../../store/ledger/late-changes.ts';
import { firstReadInstant } from '../../store/windows/windows.ts';
import type { ReadDeps } from '../deps.ts';
import { chooseAxis } from './choose-axis.ts';
import { readChanged } from './read-changed.ts';
import { nextLength } from './read-range-part.ts';

/** Microseconds; `share` and `sample` from 0 to 1. */
type RereadSettings = HorizonRules & RereadRules;

export interface RereadDeps extends ReadDeps {
  readonly now: () => Date;
  readonly reread: RereadSettings;
}

export interface PlannedRereads extends RereadPlan {
  readonly axis: string;
  /** Microseconds: the instant that the plan is made for, and the horizon it follows. */
  readonly at: number;
  readonly horizon: number;
}

const emptyRereadTotals: RereadTotals = { listed: 0, changed: 0, fetched: 0, requests: 0 };

/** The axis to re-read on, and what the age of a change is counted from. */
const rereadAxis = ({ source, processedField }: ReadDeps): { readonly axis: string; readonly basis: LateBasis } => {
  const chosen = chooseAxis(source.list.list, processedField);
  return {
    axis: chosen?.axis ?? defaultAxis(source.list.list).name,
    basis: chosen?.column === 'processed_at' ? 'processed' : 'timestamp',
  };
};

/** Computed from the stored distribution and the stored times of earlier runs, never from the scheduled time. */
export const planRereads = async (deps: RereadDeps): Promise<PlannedRereads> => {
  const { axis, basis } = rereadAxis(deps);
  const { store } = deps;
  const at = deps.now().getTime() * 1000;
  await compactLateChanges(store);
  const horizon = learnHorizon(await readLateChanges(store, basis), deps.reread);
  const plan = planParts(horizon, await readCoveredBands(store, axis), deps.reread, {
    now: at,
    trackedSince: await trackRereads(store, axis, at),
  });
  // A backfill reads what was never read.
  const begun = (await firstReadInstant(store)) ?? at;
  const parts = plan.parts
    .map((part) => ({ ...part, from: Math.max(part.from, begun) }))
    .filter((part) => part.from < part.to);
  return { covers: plan.covers, parts: joinUncut(deps, axis, parts), axis, at, horizon: horizon.horizon };
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
  plan: PlannedRereads,
  options: {
    readonly signal: AbortSignal;
    readonly resume?: RereadProgress | undefined;
    readonly onProgress: (progress: RereadProgress) => void;
  },
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
        { signal: options.signal, alive: () => options.onProgress({ part: index, doneTo: from, totals }) },
      );
      totals = {
        listed: totals.listed + reading.listed,
        changed: totals.changed + reading.fresh.size + reading.changed.size,
        fetched: totals.fetched + reading.fetched,
        requests: totals.requests + reading.requests,
      };
      if (cuttable) length = nextLength(to - from, reading.listed, deps.windows);
      from = to;
      doneTo = to;
      options.onProgress({ part: index, doneTo, totals });
    }
    doneTo = null;
  }
  if (plan.covers.length > 0) {
    await deps.store.transaction((client) =>
      finishRereadRun(client, { axis: plan.axis, plannedAt: plan.at, horizon: plan.horizon, ...totals }, plan.covers),
    );
  }
  return totals;
};

export interface LateEditStatus {
  readonly axis: string;
  readonly basis: LateBasis;
  readonly horizon: Horizon;
  readonly fixed: boolean;
  readonly delay: number;
  readonly share: number;
  /** Share of all changes, each weighted by how likely it was to be seen, that came later than the horizon. */
  readonly tailShare: number | null;
  readonly history: RereadHistory;
}

/** For `callsync status`: what is known of late edits and what re-reading does about it. */
export const readLateEditStatus = async (deps: RereadDeps): Promise<LateEditStatus> => {
  const { axis, basis } = rereadAxis(deps);
  const horizon = learnHorizon(await readLateChanges(deps.store, basis), deps.reread);
  return {
    axis,
    basis,
    horizon,
    fixed: deps.reread.horizon !== undefined,
    delay: deps.reread.delay,
    share: deps.reread.share,
    tailShare: horizon.expectedShare === null ? null : 1 - horizon.expectedShare,
    history: await readRereadHistory(deps.store, axis),
  };
};
