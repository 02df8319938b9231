/** Reads single calls again whose webhook deliveries were doubtful: the API's answer decides. */
import type { Observation } from '../../../schemas/observation.ts';
import { asLive } from '../../source/http/limiter.ts';
import { boundStep } from '../../source/list/list-query.ts';
import { observeCall } from '../../source/list/observe-call.ts';
import { readWindow } from '../../source/read/read-window.ts';
import { forgetAnswered, listRereads, type Reread, settleRereads } from '../../store/delivery/inbox.ts';
import { readCallTimes } from '../../store/ledger/read-ledger.ts';
import type { ReadDeps } from '../deps.ts';
import { createPipeline } from '../load/ingest.ts';
import { chooseAxis } from './choose-axis.ts';

const batch = 50;

/** Undefined where the list does not show the call where it should be. */
type Ask = (callId: string) => Promise<Answer | undefined>;
type Answer =
  | { readonly kind: 'observation'; readonly observation: Observation }
  /** `unaskable`: there is neither an endpoint for one call nor a time at which to look for it. */
  | { readonly kind: 'unknown' | 'rejected' | 'unaskable' };

/** Returns the number of calls that were read again, with calls that the API does not know. */
export const rereadCalls = (deps: ReadDeps, signal: AbortSignal): Promise<{ reread: number; failed: number }> =>
  asLive(() => rereadWaiting(deps, signal));

const rereadWaiting = async (deps: ReadDeps, signal: AbortSignal): Promise<{ reread: number; failed: number }> => {
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
        ? await askInWindows(
            deps,
            requests.map(({ callId }) => callId),
            signal,
          )
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
const askInWindows = async (deps: ReadDeps, callIds: readonly string[], signal: AbortSignal): Promise<Ask> => {
  const client = deps.source.list;
  const chosen = chooseAxis(client.list, deps.processedField);
  if (chosen === undefined || !chosen.cuttable) return async () => ({ kind: 'unaskable' });
  const { axis, column } = chosen;
  const step = boundStep(client.list);
  const times = await readCallTimes(deps.store, column, callIds);
  return async (callId) => {
    const time = times.get(callId);
    if (time === undefined) return { kind: 'unaskable' };
    let answer: Answer | undefined;
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
