/** How much a warehouse takes now, where commits have a price: quotas, money, or both. */
import type { Warehouse } from '../../warehouse/warehouse.ts';

export interface PaceRequest {
  readonly warehouse: Pick<Warehouse, 'nextCommitInMs' | 'maxCallsPerLoad'>;
  /** `pending` is the sweep, which comes again; everything else wants what waits loaded now. */
  readonly origin: string;
  readonly waiting: () => Promise<number>;
}

/**
 * Calls to load in this run; undefined = none now. Bounded by what waits at this moment: what arrives meanwhile would
 * keep small commits going without end. A backlog of a full load does not wait.
 */
export const callsToLoad = async (request: PaceRequest): Promise<number | undefined> => {
  const { warehouse, origin } = request;
  if (warehouse.nextCommitInMs === undefined) return Number.POSITIVE_INFINITY;
  const waiting = await request.waiting();
  const backlog = waiting >= warehouse.maxCallsPerLoad;
  if (origin === 'pending' && !backlog && (await warehouse.nextCommitInMs()) > 0) return undefined;
  return waiting;
};
