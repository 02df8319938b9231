/** Calls that a listing no longer names: asked for one by one, and marked missing when the service has none. */
import type { Observation } from '../../../schemas/observation.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import { serviceNow, steadyNow } from '../../source/http/service-clock.ts';
import { axisTime } from '../../source/list/list-query.ts';
import { observeCalls } from '../../source/list/observe-call.ts';
import { markMissing } from '../../store/ledger/ledger.ts';
import { markPending } from '../../store/loads/loads.ts';
import type { ReadDeps, RunOptions } from '../deps.ts';
import { ingest, loadFolded } from '../load/ingest.ts';
import type { ListingComparison } from '../read/compare-listing.ts';

export interface GoneCalls {
  /** Newly marked missing. */
  readonly marked: readonly string[];
  /** Still served one by one; folded. */
  readonly found: readonly string[];
  /** Found calls that the listing should have named: it was not complete. */
  readonly omitted: number;
}

/**
 * Where the service has no endpoint for one call, two agreeing listings of the window decide; one alone does not.
 * @throws CallsyncError of the source or the store.
 */
export const confirmGone = async (
  deps: ReadDeps,
  input: {
    readonly axis: string;
    readonly range: Range;
    readonly callIds: readonly string[];
    readonly listing: ListingComparison;
  },
  { signal, alive }: RunOptions,
): Promise<GoneCalls> => {
  const client = deps.source.list;
  const { result, observedAt } = input.listing;
  const gone: string[] = [];
  const found: Observation[] = [];
  if (client.list.single_path !== undefined) {
    for await (const answers of observeCalls(client, input.callIds, signal)) {
      alive();
      for (const [callId, answer] of answers) {
        if (answer.kind === 'unknown') gone.push(callId);
        else if (answer.kind === 'observation') found.push(answer.observation);
      }
    }
  } else if (result.shown !== 'none' && result.problems.length === 0) {
    gone.push(...input.callIds);
  }
  if (found.length > 0) await loadFolded(deps, await ingest(deps, { observations: found, origin: 'reconcile' }));
  // The latest observation of the listing, so that only a later one clears the mark.
  const since = observedAt > 0 ? observedAt : (serviceNow(deps.source.clock) ?? Math.round(steadyNow() * 1000));
  const marked = await deps.store.transaction(async (db) => {
    const ids = await markMissing(db, gone, since);
    await markPending(db, ids);
    return ids;
  });
  const omitted = found.filter((observation) => shouldBeListed(deps, input, observation)).length;
  return { marked, found: found.map(({ callId }) => callId), omitted };
};

const shouldBeListed = (
  deps: ReadDeps,
  { axis, range }: { readonly axis: string; readonly range: Range },
  { fields }: Observation,
): boolean => {
  const { list } = deps.source.list;
  const time = axisTime(list, axis, fields);
  if (time === undefined || time < range.from || time >= range.to) return false;
  return list.status === undefined || list.status.split(',').includes(String(fields.status));
};
