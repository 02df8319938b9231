/** Removing calls that the ledger does not know. */
import type { Queryable } from '../../postgres/database.ts';
import type { CallGuard, Statement } from '../warehouse.ts';
import { childTables, type Layout, qualified } from './layout.ts';

/** A child row `t` and the row `c` of its call. */
const isSameCall = 'c.call_id = t.call_id AND c.call_timestamp IS NOT DISTINCT FROM t.call_timestamp';

/** Parameters: call ids, epochs and revisions, as arrays of the same length. Locks in key order, as loads do. */
const claimSurplusSql = (layout: Layout): string =>
  `SELECT c.call_id FROM ${qualified(layout, 'calls')} c
  JOIN unnest($1::text[], $2::int[], $3::int[]) AS g(call_id, ledger_epoch, revision)
 USING (call_id, ledger_epoch, revision) ORDER BY c.call_id COLLATE "C" FOR UPDATE OF c`;

/** Parameter: call ids. */
const removeSql = (layout: Layout): readonly string[] =>
  ['calls', 'changes', ...childTables(layout).map(({ name }) => name)].map(
    (name) => `DELETE FROM ${qualified(layout, name)} WHERE call_id = ANY($1)`,
  );

/** Removes the rows of calls whose guard is still the given one. Runs inside a transaction. */
export const removeCalls = async (tx: Queryable, layout: Layout, guards: readonly CallGuard[]): Promise<void> => {
  const rows = await tx.query<{ call_id: string }>(claimSurplusSql(layout), [
    guards.map(({ callId }) => callId),
    guards.map(({ epoch }) => epoch),
    guards.map(({ revision }) => revision),
  ]);
  const ids = rows.map((row) => row.call_id);
  for (const sql of removeSql(layout)) await tx.query(sql, [ids]);
};

/** Parameter: call ids. */
const removeOrphansSql = (layout: Layout): readonly string[] =>
  childTables(layout).map(
    ({ name }) => `DELETE FROM ${qualified(layout, name)} t WHERE call_id = ANY($1)
   AND NOT EXISTS (SELECT FROM ${qualified(layout, 'calls')} c WHERE ${isSameCall})`,
  );

/** Removes child rows whose call has no row of the same time. Runs inside a transaction. */
export const removeOrphans = async (tx: Queryable, layout: Layout, callIds: readonly string[]): Promise<void> => {
  for (const sql of removeOrphansSql(layout)) await tx.query(sql, [callIds]);
};

/** Whether there is a search index, which has rows of calls too. */
export const hasSearchSql = (layout: Layout): string =>
  `SELECT to_regclass('${qualified(layout, 'transcript_search')}') IS NOT NULL AS found`;

export const removeStatements = (layout: Layout): readonly Statement[] => [
  { name: 'remove surplus: claim', sql: claimSurplusSql(layout) },
  ...removeSql(layout).map((sql) => ({ name: 'remove surplus', sql })),
  ...removeOrphansSql(layout).map((sql) => ({ name: 'remove orphans', sql })),
  { name: 'erase: whether there is a search index', sql: hasSearchSql(layout) },
];
