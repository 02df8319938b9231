/** Epochs: generations of the ledger, the highest part of every warehouse guard. */
import type { Database } from '../../postgres/database.ts';
import { requestWalk } from './walk.ts';

/**
 * Issues an epoch above every one known here and in the warehouses, and has every call sent again: used when a ledger is
 * created, or restored from a backup that is older than what the warehouses hold. Calls become pending by a walk, batch
 * by batch; a load that is being completed meanwhile sees the new epoch, or is looked at by the walk.
 */
export const issueEpoch = async (store: Database, reason: string, highestElsewhere: number): Promise<number> =>
  await store.transaction(async (tx) => {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtext('callsync.epoch'))`);
    const [row] = await tx.query<{ epoch: number }>(
      `INSERT INTO epochs (epoch, reason)
       SELECT greatest(coalesce(max(epoch), 0), $2::int) + 1, $1 FROM epochs
       RETURNING epoch`,
      [reason, highestElsewhere],
    );
    const warehouses = await tx.query<{ name: string }>('SELECT name FROM warehouses ORDER BY name FOR UPDATE');
    for (const { name } of warehouses) await requestWalk(tx, { warehouse: name });
    return row?.epoch ?? 0;
  });
