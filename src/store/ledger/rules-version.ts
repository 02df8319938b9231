/** Calls by the version of the privacy rules that their documents are under. */
import type { Queryable } from '../../postgres/database.ts';

/** In three ranges, which the index on the column answers by the rows that are found. */
const isOther = '(privacy_version < $1 OR privacy_version > $1 OR privacy_version IS NULL)';
const isAlive = 'NOT tombstone AND revision > 0';

/** Calls of the ledger whose documents are under other rules than these, or under none. */
export const countUnderOthers = async (db: Queryable, version: string): Promise<number> => {
  const [row] = await db.query<{ calls: number }>(
    `SELECT count(*)::int AS calls FROM ledger WHERE ${isOther} AND ${isAlive}`,
    [version],
  );
  return row?.calls ?? 0;
};

/** Their ids in key order, `limit` at a time; those that are brought under the rules meanwhile are left out. */
export async function* listUnderOthers(db: Queryable, version: string, limit: number): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    const rows = await db.query<{ id: string }>(
      `SELECT call_id AS id FROM ledger WHERE call_id > $2 AND ${isOther} AND ${isAlive} ORDER BY call_id LIMIT $3`,
      [version, after, limit],
    );
    if (rows.length > 0) yield rows.map(({ id }) => id);
    if (rows.length < limit) return;
    after = rows.at(-1)?.id ?? after;
  }
}
