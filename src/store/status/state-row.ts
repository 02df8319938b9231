/** The row of a warehouse's table `sync_state`, read from the store. */
import type { Row } from '../../../schemas/tables.ts';
import { toMicros } from '../../postgres/database.ts';
import { countPending, newestLoadedSql } from '../loads/loads.ts';
import type { Store } from '../store.ts';
import { readProvenThrough } from '../windows/verdicts.ts';
import { readToSql } from '../windows/windows.ts';

/** Times in microseconds by the store's clock. */
export const readStateRow = async (store: Store, warehouse: string): Promise<Row> => {
  const figures = await store.row<Row>`
      SELECT (SELECT ${toMicros(readToSql)} FROM watermarks w WHERE name = 'sync') AS watermark,
            (SELECT last_error FROM watermarks WHERE name = 'sync') AS last_error,
            ${newestLoadedSql(warehouse)} AS newest_call,
            (SELECT ${toMicros('max(committed_at)')} FROM loads WHERE warehouse = ${warehouse} AND state = 'committed') AS last_load_at,
            coalesce((SELECT max(epoch) FROM epochs), 0) AS ledger_epoch, ${toMicros('now()')} AS heartbeat_at`;
  const { axis: proven_axis, through: proven_through } = await readProvenThrough(store, warehouse);
  return { ...figures, warehouse, proven_axis, proven_through, pending: await countPending(store, warehouse) };
};
