/** Reads single calls again whose webhook deliveries were doubtful: the API's answer decides. */
import type { Observation } from '../../../schemas/observation.ts';
import { boundStep, isCuttable } from '../../source/list/list-query.ts';
import { observeRecord } from '../../source/list/observe.ts';
import { readWindow } from '../../source/read/read-window.ts';
import { forgetAnswered, listRereads, type Reread, settleRereads } from '../../store/delivery/inbox.ts';
import { type LedgerAxis, readCallTimes } from '../../store/ledger/ledger-windows.ts';
import { createPipeline, type ReadDeps } from './read-range-part.ts';

const batch = 50;

/** What the API says of a call; `unknown` to it; undefined where it could not be asked or its record not be read. */
type Answer = Observation | 'unknown' | undefined;
type Ask = (callId: string, signal: AbortSignal) => Promise<Answer>;

/** Returns how many calls were read again; those that the API does not know count as read. */
export const rereadCalls = async (deps: ReadDeps, signal: AbortSignal): Promise<{ reread: number; failed: number }> => {
  let reread = 0;
  let failed = 0;
  await forgetAnswered(deps.store);
  for (;;) {
    const requests = await listRereads(deps.store, batch);
    if (requests.length === 0) return { reread, failed };
    const ask =
      deps.source.list.list.single_path === undefined
        ? await askInWindows(
            deps,
            requests.map(({ callId }) => callId),
          )
        : askSingly(deps);
    const done: Reread[] = [];
    const missed: Reread[] = [];
    const pipeline = createPipeline(deps, 'reread');
    for (const request of requests) {
      signal.throwIfAborted();
      const answer = await ask(request.callId, signal);
      if (answer === undefined) missed.push(request);
      else done.push(request);
      if (typeof answer === 'object') await pipeline.take([answer], []);
    }
    await pipeline.finish();
    await settleRereads(deps.store, done, missed);
    reread += done.length;
    failed += missed.length;
    if (missed.length > 0) return { reread, failed };
  }
};

const askSingly = (deps: ReadDeps): Ask => {
  const carries = new Set(deps.source.list.list.carries);
  return async (callId, signal) => {
    const found = await deps.source.list.fetchCall(callId, signal);
    if (found === undefined) return 'unknown';
    const observed = observeRecord(found.record, { observedAt: found.observedAt, carries });
    return observed.kind === 'observation' && observed.observation.callId === callId ? observed.observation : undefined;
  };
};

/** An axis by which the list can be cut and whose times the ledger knows; the call's own time moves least. */
const knownAxis = ({ source, processedField }: ReadDeps): { axis: string; column: LedgerAxis } | undefined => {
  const axes = source.list.list.axes.filter(isCuttable);
  const own = axes.find((axis) => axis.record_field === 'timestamp');
  if (own !== undefined) return { axis: own.name, column: 'call_timestamp' };
  const processed = axes.find((axis) => axis.record_field === processedField);
  return processed === undefined ? undefined : { axis: processed.name, column: 'processed_at' };
};

/** Where there is no endpoint for one call, it is looked for among those of its instant. */
const askInWindows = async (deps: ReadDeps, callIds: readonly string[]): Promise<Ask> => {
  const known = knownAxis(deps);
  if (known === undefined) return async () => undefined;
  const client = deps.source.list;
  const step = boundStep(client.list);
  const times = await readCallTimes(deps.store, known.column, callIds);
  return async (callId, signal) => {
    const time = times.get(callId);
    if (time === undefined) return undefined;
    let answer: Answer;
    await readWindow({
      client,
      window: { axis: known.axis, from: time, to: Math.floor(time / step) * step + step },
      confirm: 'later',
      signal,
      onPage: (observations) => {
        answer = observations.find((observation) => observation.callId === callId) ?? answer;
      },
    });
    return answer;
  };
};
