/** The row of a warehouse's table `sync_state`, read from the store, and when it is due: its heartbeat. */
import type { Row } from '../../../schemas/tables.ts';
import { type Queryable, toMicros } from '../../postgres/database.ts';
import { countPending, newestLoadedSql } from '../loads/loads.ts';
import type { Store } from '../store.ts';
import { readProvenThrough } from '../windows/verdicts.ts';
import { readToSql } from '../windows/windows.ts';

/** Times in microseconds by the store's clock. */
export const readStateRow = async (store: Store, warehouse: string): Promise<Row> => {
  const figures = await store.row<Row>`
      SELECT (SELECT ${toMicros(readToSql)} FROM watermarks w WHERE name = 'sync') AS watermark,
            (SELECT last_error FROM watermarks WHERE name = 'sync') AS last_error,
            (SELECT ${newestLoadedSql} FROM warehouses w WHERE name = ${warehouse}) AS newest_call,
            (SELECT ${toMicros('max(committed_at)')} FROM loads WHERE warehouse = ${warehouse} AND state = 'committed') AS last_load_at,
            coalesce((SELECT max(epoch) FROM epochs), 0) AS ledger_epoch, ${toMicros('now()')} AS heartbeat_at`;
  const { axis: proven_axis, through: proven_through } = await readProvenThrough(store, warehouse);
  return { ...figures, warehouse, proven_axis, proven_through, pending: await countPending(store, warehouse) };
};

/** Claims a heartbeat in a warehouse if it is due. Only one of several processes gets it. */
export const claimHeartbeat = (db: Queryable, warehouse: string, everyMs: number): Promise<boolean> =>
  db.has`INSERT INTO meta AS m (key, value) VALUES (${heartbeatKey(warehouse)}, 'true')
     ON CONFLICT (key) DO UPDATE SET updated_at = now()
      WHERE m.updated_at <= now() - make_interval(secs => ${everyMs / 1000}) RETURNING 1`;

/** A heartbeat that failed is due again at once. */
export const forgetHeartbeat = (db: Queryable, warehouse: string): Promise<unknown> =>
  db.query`DELETE FROM meta WHERE key = ${heartbeatKey(warehouse)}`;

const heartbeatKey = (warehouse: string): string => `heartbeat:${warehouse}`;
