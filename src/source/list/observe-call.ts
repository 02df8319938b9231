/** One call, asked for by its id: the one implementation of fetching it and turning the answer into an observation. */
import { partsOf } from '../../lib/pages.ts';
import type { AskOptions, ListClient } from './list-client.ts';
import { observeRecord } from './observe.ts';

/**
 * `unknown`: the service does not know the call (404), or has no endpoint for one call. `rejected`: the answer is no
 * record of this call. @throws CallsyncError of the request.
 */
export const observeCall = async (client: ListClient, callId: string, options: AskOptions = {}) => {
  const fetched = await client.fetchCall(callId, options);
  if (fetched === undefined) return { kind: 'unknown' } as const;
  const carries = new Set(client.list.authoritative_fields);
  const { record, observedAt, bytes } = fetched;
  const observed = observeRecord(record, { observedAt, carries, bytes: () => bytes });
  if (observed.kind === 'rejected') return { ...observed, fetched };
  const { observation } = observed;
  if (observation.callId !== callId)
    return { kind: 'rejected', reason: 'the answer is another call', fetched } as const;
  return { kind: 'observation', observation, fetched } as const;
};

/** Calls asked for at once; the request limit paces them. */
const parallel = 4;

/** Asks for calls several at once; yields each group's answers by call id. @throws CallsyncError, or the signal's reason. */
export async function* observeCalls(client: ListClient, callIds: readonly string[], signal: AbortSignal) {
  for (const group of partsOf(callIds, parallel)) {
    signal.throwIfAborted();
    yield new Map(
      await Promise.all(group.map(async (callId) => [callId, await observeCall(client, callId, { signal })] as const)),
    );
  }
}
