/** Epochs: generations of the ledger, the highest part of every warehouse guard. */
import type { Database, Queryable } from '../../postgres/database.ts';
import { requestWalk } from './walk.ts';

/**
 * Issues an epoch above every one known here and in the warehouses, and has every call sent again: used when a ledger is
 * created, or restored from a backup that is older than what the warehouses hold. Calls become pending by a walk, batch
 * by batch; a load that is being completed meanwhile sees the new epoch, or is looked at by the walk.
 * @param how.healing what follows is still to be done: `endHealing` says that it is.
 */
export const issueEpoch = async (
  store: Database,
  reason: string,
  highestElsewhere: number,
  how: { readonly healing: boolean } = { healing: false },
): Promise<number> =>
  await store.transaction(async (tx) => {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtext('callsync.epoch'))`);
    const [row] = await tx.query<{ epoch: number }>(
      `INSERT INTO epochs (epoch, reason, healing)
       SELECT greatest(coalesce(max(epoch), 0), $2::int) + 1, $1, $3 FROM epochs
       RETURNING epoch`,
      [reason, highestElsewhere, how.healing],
    );
    const warehouses = await tx.query<{ name: string }>('SELECT name FROM warehouses ORDER BY name FOR UPDATE');
    for (const { name } of warehouses) await requestWalk(tx, { warehouse: name });
    return row?.epoch ?? 0;
  });

/** The present epoch, and the latest one after which everything was healed; 0 = none. */
export const readEpochs = async (db: Queryable): Promise<{ readonly epoch: number; readonly healed: number }> => {
  const [row] = await db.query<{ epoch: number; healed: number }>(
    'SELECT coalesce(max(epoch), 0) AS epoch, coalesce(max(epoch) FILTER (WHERE NOT healing), 0) AS healed FROM epochs',
  );
  return row ?? { epoch: 0, healed: 0 };
};

/** Notes that everything was done that follows an epoch, or one before it. */
export const endHealing = async (db: Queryable, epoch: number): Promise<void> => {
  await db.query('UPDATE epochs SET healing = false WHERE healing AND epoch <= $1', [epoch]);
};
