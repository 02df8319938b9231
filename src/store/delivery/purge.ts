/** Takes what deliveries, quarantine, rereads and frames hold of erased calls. */
import type { Transaction } from '../../postgres/database.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';

/** A shorter text would be found in bytes of others. */
const leastText = 6;

export interface Purged {
  /** Deliveries whose body or call id went. */
  readonly inbox: number;
  readonly quarantine: number;
  readonly rereads: number;
  readonly frames: number;
  /** Records that only the holder of the private key can look into. */
  readonly sealed: number;
}

/**
 * Bodies of the calls' deliveries are deleted, waiting ones are settled unread, and a keyed hash takes the place of the call id,
 * in the warehouses' table `deliveries` too. Records in quarantine and frames that name a call or hold one of the texts are
 * emptied or deleted.
 * @param calls id and keyed hash of each. @param texts searched for in bytes that belong to no call.
 */
export const purgeDeliveries = async (
  tx: Transaction,
  calls: readonly { readonly id: string; readonly key: string }[],
  texts: readonly string[],
  warehouses: readonly string[],
): Promise<Purged> => {
  const ids = calls.map(({ id }) => id);
  const sought = [...ids.map((id) => JSON.stringify(id)), ...texts.filter((text) => text.length >= leastText)].map(
    (text) => Buffer.from(text),
  );
  const settled = await tx.query(
    `WITH purged AS (
       UPDATE inbox i SET body = NULL, call_id = 'erased:' || u.key, reason = 'erased',
              folded_at = coalesce(i.folded_at, now()),
              outcome = CASE WHEN i.outcome = 'pending' THEN 'duplicate' ELSE i.outcome END
         FROM unnest($1::text[], $2::text[]) AS u(id, key)
        WHERE i.call_id = u.id
           OR (i.outcome = 'pending' AND position(convert_to(to_json(u.id)::text, 'UTF8') IN i.body) > 0)
       RETURNING i.seq),
     told AS (
       INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
       SELECT c.warehouse, false, seq FROM (${concernedWarehouses('$3')}) AS c, purged ON CONFLICT DO NOTHING)
     SELECT seq FROM purged`,
    [ids, calls.map(({ key }) => key), [...warehouses]],
  );
  const quarantined = await tx.query(
    `UPDATE quarantine SET body = '', state = 'dropped', settled_at = now(), reason = 'erased'
      WHERE EXISTS (SELECT FROM unnest($1::bytea[]) AS sought WHERE position(sought IN body) > 0) RETURNING id`,
    [sought],
  );
  const rereads = await tx.query('DELETE FROM rereads WHERE call_id = ANY($1) RETURNING 1', [ids]);
  const frames = await tx.query(
    `DELETE FROM websocket_frames
      WHERE EXISTS (SELECT FROM unnest($1::bytea[]) AS sought WHERE position(sought IN body) > 0) RETURNING 1`,
    [sought],
  );
  const [sealed] = await tx.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM quarantine WHERE state = 'open' AND substring(body FROM 1 FOR 4) = 'CSX1'::bytea`,
  );
  return {
    inbox: settled.length,
    quarantine: quarantined.length,
    rereads: rereads.length,
    frames: frames.length,
    sealed: sealed?.n ?? 0,
  };
};
