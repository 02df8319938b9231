/** How much a warehouse takes now, where commits have a price: quotas, money, or both. */
import type { Warehouse } from '../../warehouse/warehouse.ts';

/** The sweep waits for so long between two commits of one run. */
const longestPauseMs = 15_000;

export interface PaceRequest {
  readonly warehouse: Pick<Warehouse, 'nextCommitInMs' | 'maxCallsPerLoad'>;
  /** `pending` is the sweep, which comes again; everything else wants what waits loaded now. */
  readonly origin: string;
  readonly waiting: () => Promise<number>;
}

/**
 * Whether this run also loads calls that the warehouse has in an earlier revision. Where each such commit costs whole days of
 * data, the sweep gathers them for a while; new calls and erasures never wait for that.
 */
export const takesChanges = async ({ warehouse, origin }: Omit<PaceRequest, 'waiting'>): Promise<boolean> =>
  origin !== 'pending' || ((await warehouse.nextCommitInMs?.('changes')) ?? 0) === 0;

/**
 * Calls to load in this run; undefined = none now. Bounded by what waits at this moment: what arrives meanwhile would
 * keep small commits going without end. A backlog of a full load does not wait.
 */
export const callsToLoad = async (request: PaceRequest): Promise<number | undefined> => {
  const { warehouse, origin } = request;
  if (warehouse.nextCommitInMs === undefined) return Number.POSITIVE_INFINITY;
  const waiting = await request.waiting();
  const backlog = waiting >= warehouse.maxCallsPerLoad;
  if (origin === 'pending' && !backlog && (await warehouse.nextCommitInMs('interval')) > 0) return undefined;
  return waiting;
};

/** Whether this run may commit at once. The sweep comes again when it may; everybody else waits in the load. */
export const mayCommit = async ({ warehouse, origin }: Omit<PaceRequest, 'waiting'>): Promise<boolean> =>
  origin !== 'pending' || ((await warehouse.nextCommitInMs?.('any')) ?? 0) <= longestPauseMs;
