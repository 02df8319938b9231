/** Calls that a listing no longer names: asked for one by one, and marked missing when the service has none. */
import type { Observation } from '../../../schemas/observation.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import { axisTime } from '../../source/list/list-query.ts';
import { observeRecord } from '../../source/list/observe.ts';
import { markMissing } from '../../store/ledger/missing.ts';
import { markPending } from '../../store/loads/loads.ts';
import type { ListingComparison } from '../read/compare-listing.ts';
import { createPipeline, type ReadDeps } from '../read/read-range-part.ts';

export interface GoneCalls {
  /** Newly marked missing. */
  readonly marked: readonly string[];
  /** Still served one by one; folded. */
  readonly found: readonly string[];
  /** Of those, the ones that the listing should have named: it was not complete. */
  readonly omitted: number;
}

const parallel = 4;

/** Where single calls cannot be asked for, two agreeing listings of the window decide; one alone does not. */
export const confirmGone = async (
  deps: ReadDeps,
  input: {
    readonly axis: string;
    readonly range: Range;
    readonly callIds: readonly string[];
    readonly survey: ListingComparison;
  },
  options: { readonly signal: AbortSignal; readonly alive: () => void },
): Promise<GoneCalls> => {
  const client = deps.source.list;
  let gone: readonly string[] = [];
  const found: Observation[] = [];
  if (client.list.single_path !== undefined) {
    const absent: string[] = [];
    for (let start = 0; start < input.callIds.length; start += parallel) {
      options.signal.throwIfAborted();
      options.alive();
      const ids = input.callIds.slice(start, start + parallel);
      const answers = await Promise.all(ids.map((id) => askFor(deps, id, options.signal)));
      answers.forEach((answer, index) => {
        if (answer === undefined) absent.push(ids[index] as string);
        else if (answer !== 'unreadable') found.push(answer);
      });
    }
    gone = absent;
  } else if (input.survey.result.confirmed !== 'none' && input.survey.result.problems.length === 0) {
    gone = input.callIds;
  }
  if (found.length > 0) {
    const pipeline = createPipeline(deps, 'reconcile');
    await pipeline.take(found, []);
    await pipeline.finish();
  }
  // Later than every observation of the listing, so that only a later observation clears the mark.
  const since = input.survey.observedAt > 0 ? input.survey.observedAt : serviceNow(deps);
  const marked = await deps.store.transaction(async (tx) => {
    const ids = await markMissing(tx, gone, since);
    await markPending(
      tx,
      deps.targets.map(({ warehouse }) => warehouse.name),
      ids,
    );
    return ids;
  });
  const omitted = found.filter((observation) => shouldBeListed(deps, input, observation)).length;
  return { marked, found: found.map(({ callId }) => callId), omitted };
};

/** The service's clock, as far as it is known, in microseconds. */
const serviceNow = (deps: ReadDeps): number =>
  Math.round((performance.timeOrigin + performance.now() + (deps.source.clock.offset()?.low ?? 0)) * 1000);

const askFor = async (
  deps: ReadDeps,
  callId: string,
  signal: AbortSignal,
): Promise<Observation | 'unreadable' | undefined> => {
  const answer = await deps.source.list.fetchCall(callId, signal);
  if (answer === undefined) return undefined;
  const carries = new Set(deps.source.list.list.carries);
  const observed = observeRecord(answer.record, { observedAt: answer.observedAt, carries });
  return observed.kind === 'observation' && observed.observation.callId === callId
    ? observed.observation
    : 'unreadable';
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
