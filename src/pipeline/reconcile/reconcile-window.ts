/** Reconciles one window: compares the API, the ledger and every warehouse, heals, and records a verdict per warehouse. */

import type { Range, ReconcilePlan, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { flattenVersion } from '../../calls/flatten.ts';
import { countOf } from '../../lib/count-of.ts';
import { CallsyncError } from '../../lib/errors.ts';
import type { JsonRecord } from '../../lib/json-record.ts';
import { partsOf } from '../../lib/pages.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { serviceNow, steadyNow } from '../../source/http/http.ts';
import { axisOf } from '../../source/list/list-query.ts';
import { markMissing, readRows } from '../../store/ledger/ledger.ts';
import { findTombstones, listWindowCalls, revisionsDigest } from '../../store/ledger/read-ledger.ts';
import { markPending } from '../../store/loads/loads.ts';
import type { StoredVerdict, VerdictOutcome } from '../../store/windows/verdicts.ts';
import {
  addVerdict,
  latestVerdicts,
  listedInEarlierWeeks,
  readWithdrawals,
  windowOf,
} from '../../store/windows/verdicts.ts';
import { listReadByAxis } from '../../store/windows/windows.ts';
import type { ReadDeps, WarehouseTarget } from '../deps.ts';
import { type ListingComparison, listIds, readChanged } from '../read/read-changed.ts';
import { compareWarehouse, healWarehouse } from './compare-warehouse.ts';
import { askSingly, removeUnexpected } from './remove-unexpected.ts';

export interface ReconcileDeps extends ReadDeps {
  readonly now: () => Date;
  /** Version of callsync, recorded in verdicts. */
  readonly version: string;
}

interface ReconcileWindowInput extends Omit<ReconcilePlan, 'windows'> {
  readonly range: Range;
  readonly warehouseLevel: WarehouseLevel;
}

/**
 * Lists the window and confirms missing calls. Then compares, heals, judges and records each warehouse.
 * Warehouses come last, over all calls of the listing and the ledger, so that new calls are covered too.
 * @throws CallsyncError of the source or the store; a warehouse that is away is reported and gets no verdict.
 */
export const reconcileWindow = async (deps: ReconcileDeps, input: ReconcileWindowInput, signal: AbortSignal) => {
  const window = await listWindow(deps, input, signal);
  const verdicts: StoredVerdict[] = [];
  const unreachable: Record<string, CallsyncError> = {};
  let removed = 0;
  for (const target of deps.targets) {
    try {
      const judged = await reconcileWarehouse(deps, target, window, signal);
      verdicts.push(judged.verdict);
      removed += judged.removed;
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      unreachable[target.warehouse.name] = error;
      deps.log('warehouse could not be reconciled', { warehouse: target.warehouse.name, code: error.code });
    }
  }
  return {
    verdicts,
    /** Calls newly marked missing. */
    markedMissing: window.gone.marked.length,
    requests: window.reading.requests,
    /** Unexpected calls that were removed, over all warehouses. */
    removed,
    /** Warehouses that could not be compared. */
    unreachable,
  };
};

/** Findings at the service and in the ledger, before any warehouse is compared. */
const listWindow = async (deps: ReconcileDeps, input: ReconcileWindowInput, signal: AbortSignal) => {
  const { range, axis } = input;
  const before = await listWindowCalls(deps.store, input.column, range);
  const looked = await listLooked(deps, input);
  const asked = { axis, range, level: input.level, confirm: 'now', origin: 'reconcile' } as const;
  const reading = await readChanged(deps, asked, signal);
  const { comparison: listing } = reading;
  const isLate = (id: string): boolean => {
    const { time: own, times } = listing.calls.get(id) ?? {};
    // Without a time on another axis, its own has to do: rather too many calls count as missing than too few.
    return own === undefined || looked.some((part) => isWithin(times?.get(part.axis) ?? own, part));
  };
  const present = before.filter(({ sourceDeletedAt }) => sourceDeletedAt === null).map(({ callId }) => callId);
  const unlisted = present.filter((id) => !listing.calls.has(id));
  const suspicious =
    !input.acceptEmpty &&
    isSuspiciouslyEmpty({
      listed: reading.listed,
      known: present.length,
      gone: unlisted.length,
      history: await listedInEarlierWeeks(deps.store, { axis, ...range }),
    });
  const gone: Awaited<ReturnType<typeof confirmGone>> = suspicious
    ? { marked: [], found: [], omitted: 0 }
    : await confirmGone(deps, { ...input, callIds: unlisted, listing }, signal);
  const unlistedBefore = before.filter(({ callId }) => !listing.calls.has(callId));
  const missingBefore = unlistedBefore.filter(({ sourceDeletedAt }) => sourceDeletedAt !== null).length;
  const after = await listWindowCalls(deps.store, input.column, range);
  // Also calls that were unknown and became tombstones when they were read just now.
  const excluded = await findTombstones(deps.store, [...listing.calls.keys()]);
  return {
    input,
    reading,
    gone,
    goneCount: missingBefore + (suspicious ? unlisted.length : gone.marked.length),
    suspicious,
    /** Listed calls that are tombstones. */
    excluded,
    /** Listed calls of parts that nobody had read. */
    firstRead: new Set([...reading.fresh].filter((id) => !isLate(id))),
    /** Calls that every warehouse must have. */
    callIds: [...new Set([...listing.calls.keys(), ...after.map(({ callId }) => callId)])],
  };
};

type ReconciledWindow = Awaited<ReturnType<typeof listWindow>>;

const isWithin = (time: number, { from, to }: Range): boolean => from <= time && time < to;

/** The parts that were read or compared before, each with its axis: a new call elsewhere is no difference. */
const listLooked = async ({ store }: ReadDeps, { axis, range }: ReconcileWindowInput) => [
  ...(await listReadByAxis(store, { axis, ...range })),
  ...(await latestVerdicts(store, range)).map((verdict) => ({ axis: verdict.axis, ...windowOf(verdict) })),
];

const reconcileWarehouse = async (
  deps: ReconcileDeps,
  target: WarehouseTarget,
  window: ReconciledWindow,
  signal: AbortSignal,
): Promise<{ readonly verdict: StoredVerdict; readonly removed: number }> => {
  const { input, reading, gone, callIds } = window;
  const { range, warehouseLevel: level } = input;
  const { result } = reading.comparison;
  const before = await readWithdrawals(deps.store, target.warehouse.name);
  const found = await compareWarehouse(deps, target, { callIds, range, level });
  // A call that was marked missing or read for the first time just now is sent for that alone.
  const sent = new Set([...gone.marked, ...window.firstRead]);
  const others = (ids: ReadonlySet<string>) => new Set([...ids].filter((id) => !sent.has(id)));
  const comparison = { ...found, missing: others(found.missing), different: others(found.different) };
  const touched = new Set([...reading.fresh, ...reading.changed, ...gone.marked, ...gone.found]);
  const unhealed = await healWarehouse(deps, target, { comparison, touched, level });
  const removed = await removeUnexpected(deps, target, found.unexpected, signal);
  const judged = {
    ...reading,
    ...comparison,
    fresh: others(reading.fresh),
    unexpected: found.unexpected.map(({ callId }) => callId),
    removed,
    listed: reading.comparison.calls.keys(),
    unhealed,
    omitted: gone.omitted,
    listingComplete: result.shown !== 'none' && result.problems.length === 0 && !isOftenRejected(result),
    suspicious: window.suspicious,
    excluded: window.excluded,
  };
  const verdict = await addVerdict(
    deps.store,
    {
      ...judgeWindow(judged),
      warehouse: target.warehouse.name,
      axis: input.axis,
      window_from: range.from,
      window_to: range.to,
      level: reading.level,
      warehouse_level: level,
      confirmed: result.shown,
      calls_listed: reading.listed,
      deleted: window.goneCount,
      compared_at: deps.now().getTime() * 1000,
      ledger_epoch: await deps.store.epoch(),
      flatten_version: flattenVersion,
      revisions_digest: await revisionsDigest(deps.store, input.column, range),
      compared_by: deps.version,
    },
    before,
    { reasons: describeReasons(judged, window), unhealed: [...unhealed].slice(0, mostNamed) },
  );
  return { verdict, removed: removed.size };
};

/** Whether more than one in a hundred records is no call: the configuration is wrong, or the service. A single one waits in quarantine. */
export const isOftenRejected = ({
  rejected,
  calls,
}: Pick<ListingComparison['result'], 'rejected' | 'calls'>): boolean => rejected > Math.max(1, calls / 100);

/** Most calls and windows that the reasons of a verdict name. */
const mostNamed = 10;

/** Each fact that keeps a window from being proven, as `kind: sentence`; `callsync coverage --day` knows the kinds. */
const describeReasons = (found: JudgedFacts, { reading, goneCount }: ReconciledWindow): string[] => {
  const { result } = reading.comparison;
  const { problems, parts } = result;
  const unshown = parts.flatMap(({ reason }) => reason ?? []);
  const listing =
    problems.length > 0
      ? problems.slice(0, mostNamed).map(({ problem, detail }) => `${problem}: ${detail}`)
      : isOftenRejected(result)
        ? [
            `unreadable: ${countOf(result.rejected, 'record')} of the list cannot be read as calls; run callsync quarantine list.`,
          ]
        : [`not_shown: The listing ${unshown[0] ?? 'could not be shown to be complete'}.`];
  const left = found.unexpected.length - found.removed.size;
  const counted = (count: number, kind: string, say: (calls: string) => string): string[] =>
    count === 0 ? [] : [`${kind}: ${say(countOf(count, 'call'))}`];
  return [
    ...(found.suspicious
      ? [`suspicious: The service lists ${countOf(reading.listed, 'call')} and leaves out ${goneCount} that it had.`]
      : []),
    ...(found.listingComplete ? [] : listing),
    ...counted(found.omitted, 'omitted', (calls) => `The service has ${calls} that its list leaves out.`),
    ...counted(found.unfetched.length, 'unfetched', (calls) => `The ledger did not take ${calls} as listed.`),
    ...counted(found.unhealed.size, 'unhealed', (calls) => `After loading, ${calls} still differ from the ledger.`),
    ...counted(left, 'unexpected', (calls) => `The warehouse has ${calls} that the ledger does not know.`),
  ];
};

// The verdict on one window of one warehouse, from everything that reconciling found: pure.

type JudgedFacts = Parameters<typeof judgeWindow>[0];

/**
 * `proven`: no difference. `healed`: all differences were repaired. `unproven`: a part is incomplete or still
 * different. `suspicious_empty` comes first: the service listed too few calls.
 */
export const judgeWindow = (found: {
  /** Ids that the service listed in the window. */
  readonly listed: Iterable<string>;
  /** Listed ids that the ledger lacked, or held with other values. */
  readonly fresh: ReadonlySet<string>;
  readonly changed: ReadonlySet<string>;
  /** Listed ids of calls that may be nowhere: they were erased, or are too old to be kept. */
  readonly excluded: ReadonlySet<string>;
  /** Ids that the warehouse lacked or held otherwise than the ledger, before anything was healed. */
  readonly missing: Iterable<string>;
  readonly different: Iterable<string>;
  /** Ids in the warehouse that the ledger did not know, and the removed ones among them. */
  readonly unexpected: readonly string[];
  readonly removed: ReadonlySet<string>;
  /** Ids that still differ after healing, and ids whose whole record could not be read. */
  readonly unhealed: ReadonlySet<string>;
  readonly unfetched: readonly string[];
  /** Calls that the listing should have named and did not. */
  readonly omitted: number;
  /** Whether the listing was shown complete. */
  readonly listingComplete: boolean;
  /** The listing is too empty to be believed. */
  readonly suspicious: boolean;
}) => {
  const missing = new Set([...found.missing, ...[...found.fresh].filter((id) => !found.excluded.has(id))]);
  const different = new Set([...found.different].filter((id) => !missing.has(id)));
  for (const id of found.changed) if (!missing.has(id)) different.add(id);
  const wrong = new Set([...missing, ...different]);
  const listed = [...found.listed];
  const left = found.unexpected.filter((id) => !found.removed.has(id)).length;
  const complete =
    found.listingComplete &&
    found.unfetched.length === 0 &&
    found.omitted === 0 &&
    left === 0 &&
    found.unhealed.size === 0;
  const settled = wrong.size + found.unexpected.length > 0 ? 'healed' : 'proven';
  const judged = complete ? settled : 'unproven';
  const outcome: VerdictOutcome = found.suspicious ? 'suspicious_empty' : judged;
  return {
    outcome,
    calls_found: listed.filter((id) => !wrong.has(id) && !found.excluded.has(id)).length,
    excluded: listed.filter((id) => !wrong.has(id) && found.excluded.has(id)).length,
    missing: missing.size,
    different: different.size,
    healed: [...wrong].filter((id) => !found.unhealed.has(id) && !found.unfetched.includes(id)).length,
    unexpected: found.unexpected.length,
  };
};

const fewKnown = 5;
const manyGone = 20;
const manyUsual = 20;

/** Whether a listing is too empty to be believed: an empty answer may also mean "not authorised". */
const isSuspiciouslyEmpty = (counts: {
  readonly listed: number;
  /** Calls of the window that the ledger has and that were listed when last looked for. */
  readonly known: number;
  /** Calls that the listing does not have. */
  readonly gone: number;
  /** Counts of the listings for the same hours of earlier weeks. */
  readonly history: readonly number[];
}): boolean => {
  const { listed, known, gone, history } = counts;
  if (listed === 0 && known >= fewKnown) return true;
  if (gone >= manyGone && gone * 2 > known) return true;
  const busy = history.filter((calls) => calls >= manyUsual).length;
  return listed === 0 && known === 0 && history.length >= 2 && 2 * busy >= history.length;
};

// Calls that a listing no longer names: asked for one by one, and marked missing when the service has none.

interface UnlistedCalls extends Pick<ReconcileWindowInput, 'axis' | 'range'> {
  readonly callIds: readonly string[];
  readonly listing: ListingComparison;
}

/** Longest time between the start of a call and its end, by which a list may cut although no record shows it. */
const longestCall = 86_400_000_000;

/**
 * Where the service has no endpoint for one call, two agreeing listings decide. After one alone, another replica may have the
 * call, or the window of its end. @throws CallsyncError of the source or the store.
 */
const confirmGone = async (deps: ReadDeps, input: UnlistedCalls, signal: AbortSignal) => {
  const { result, observedAt } = input.listing;
  const isShown = result.shown !== 'none' && result.problems.length === 0;
  const look = deps.source.list.list.single_path === undefined ? isShown && listAgain : askEach;
  const isAsked = look !== false && input.callIds.length > 0;
  const { gone, found, omitted } = isAsked ? await look(deps, input, signal) : { gone: [], found: [], omitted: 0 };
  // The latest observation of the listing, so that only a later one clears the mark.
  const since = observedAt > 0 ? observedAt : (serviceNow(deps.source.clock) ?? Math.round(steadyNow() * 1000));
  const marked = await deps.store.transaction(async (db) => {
    const ids = await markMissing(db, gone, since);
    await markPending(db, ids);
    return ids;
  });
  return {
    /** Newly marked missing. */
    marked,
    /** Still served one by one; folded. */
    found,
    /** Calls that are still there, and that the listing should have named: it was not complete. */
    omitted,
  };
};

const askEach = async (deps: ReadDeps, input: UnlistedCalls, signal: AbortSignal) => {
  const { found, unknown } = await askSingly(deps, input.callIds, signal);
  const omitted = found.filter(({ fields }) => shouldBeListed(deps, input, fields)).length;
  return { gone: unknown, found: found.map(({ callId }) => callId), omitted };
};

/** Documents that are in memory at a time. */
const documentsAtOnce = 100;

/**
 * Lists a day more on either side. Calls that only webhooks brought, and all calls where that listing has problems, are not gone.
 * `omitted` = calls that are not gone and should be listed.
 */
const listAgain = async (deps: ReadDeps, input: UnlistedCalls, signal: AbortSignal) => {
  const { axis, range, callIds } = input;
  const wider = { from: range.from - longestCall, to: range.to + longestCall };
  const named = await listIds(deps, { axis, range: wider }, signal);
  const gone: string[] = [];
  let omitted = 0;
  for (const part of partsOf(callIds, documentsAtOnce))
    for (const { callId, seenBy, document } of (await readRows(deps.store, part)).values()) {
      const wasListed = Object.keys(seenBy).some((source) => source !== 'webhook');
      if (named?.has(callId) === false && wasListed) gone.push(callId);
      else if (document && shouldBeListed(deps, input, document)) omitted += 1;
    }
  return { gone, found: [], omitted };
};

const shouldBeListed = (deps: ReadDeps, { axis, range }: UnlistedCalls, fields: JsonRecord): boolean => {
  const { list } = deps.source.list;
  const time = parseTimestamp(fields.at(axisOf(list, axis).record_field));
  // At a bound, the window beside may list a call by a time that it prints rounded.
  const slack = list.bounds_slack_ms * 1000;
  if (time === undefined || time < range.from + slack || time >= range.to - slack) return false;
  return list.status === undefined || list.status.split(',').includes(String(fields.value('status')));
};
