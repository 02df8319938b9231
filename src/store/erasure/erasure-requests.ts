/** Erasures that wait until every warehouse has their tombstones: what is known of them outlives the command that asked. */
import { randomBytes } from 'node:crypto';
import type { Queryable } from '../../postgres/database.ts';

export interface OpenErasure<Draft> {
  /** The receipt so far; nothing in it names the person. */
  readonly draft: Draft;
  /** Calls that are tombstones now. */
  readonly callIds: readonly string[];
}

/** Returns the name under which it is found again. */
export const openErasure = async (db: Queryable, { draft, callIds }: OpenErasure<object>): Promise<string> => {
  const requestId = randomBytes(8).toString('hex');
  await db.query('INSERT INTO erasure_requests (request_id, draft, call_ids) VALUES ($1, $2, $3)', [
    requestId,
    JSON.stringify(draft),
    callIds,
  ]);
  return requestId;
};

/** Undefined where there is none, or its receipt is signed. */
export const readOpenErasure = async <Draft>(
  db: Queryable,
  requestId: string,
): Promise<OpenErasure<Draft> | undefined> => {
  const [open] = await db.query<OpenErasure<Draft>>(
    'SELECT draft, call_ids AS "callIds" FROM erasure_requests WHERE request_id = $1',
    [requestId],
  );
  return open;
};

/** Its receipt is signed. */
export const closeErasure = async (db: Queryable, requestId: string): Promise<void> => {
  await db.query('DELETE FROM erasure_requests WHERE request_id = $1', [requestId]);
};
