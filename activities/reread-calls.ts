/** Reads single calls again whose webhook deliveries were doubtful: the API's answer decides. */
import { observeRecord } from '../src/source/observe.ts';
import { listRereads, type Reread, settleRereads } from '../src/store/inbox.ts';
import { createPipeline, type ReadDeps } from './read-stretch.ts';

const batch = 50;

/** Returns how many calls were read again; those that the API does not know count as read. */
export const rereadCalls = async (deps: ReadDeps, signal: AbortSignal): Promise<{ reread: number; failed: number }> => {
  const carries = new Set(deps.source.list.list.carries);
  let reread = 0;
  let failed = 0;
  for (;;) {
    const requests = await listRereads(deps.store.pool, batch);
    if (requests.length === 0) return { reread, failed };
    const done: Reread[] = [];
    const missed: Reread[] = [];
    const pipeline = createPipeline(deps, 'reread');
    for (const request of requests) {
      const { callId } = request;
      signal.throwIfAborted();
      const found = await deps.source.list.fetchCall(callId, signal);
      const observed = found && observeRecord(found.record, { observedAt: found.observedAt, carries });
      if (observed?.kind === 'observation' && observed.observation.callId === callId) {
        await pipeline.take([observed.observation], []);
        done.push(request);
      } else if (found === undefined && deps.source.list.list.single_path !== undefined) done.push(request);
      else missed.push(request);
    }
    await pipeline.finish();
    await settleRereads(deps.store.pool, done, missed);
    reread += done.length;
    failed += missed.length;
    if (missed.length > 0) return { reread, failed };
  }
};
