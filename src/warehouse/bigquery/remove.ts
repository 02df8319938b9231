/** Removing calls that the ledger does not know. */
import { keptTables } from '../../../schemas/tables.ts';
import type { CallGuard } from '../warehouse.ts';
import { type Layout, quote } from './ddl.ts';
import { coverDates, inPartitions, partitionOf } from './partitions.ts';

/** Id and time of a call as one text: rows of a call have the same wherever they are. */
const rowKey = (alias: string): string =>
  `CONCAT(IFNULL(CAST(UNIX_MICROS(${alias}.call_timestamp) AS STRING), '-'), ' ', ${alias}.call_id)`;

/**
 * One script: removes the rows of calls whose guard is still the given one, in the partitions of the guards. Values are
 * literals, because the local BigQuery passes no parameters into scripts.
 */
export const removeScript = (dataset: string, layout: Layout, guards: readonly CallGuard[], keepsChanges = false) => {
  const ranges = coverDates(new Set(guards.map(({ callTimestamp }) => partitionOf(callTimestamp))));
  const texts = guards.map(({ epoch, revision, callId }) => quote(`${epoch} ${revision} ${callId}`));
  const within = (alias: string): string => inPartitions(`${alias}.call_timestamp`, ranges);
  const deletions = keptTables(layout.documents).map(
    ({ name }) => `DELETE FROM \`${dataset}.${name}\` AS t\nWHERE ${within('t')}\n  AND t.call_id IN UNNEST(surplus);`,
  );
  // Rows of changes stay under the dates that a call had before.
  if (!keepsChanges) deletions.push(`DELETE FROM \`${dataset}.changes\` AS t\nWHERE t.call_id IN UNNEST(surplus);`);
  return `BEGIN
DECLARE surplus ARRAY<STRING> DEFAULT [];
BEGIN TRANSACTION;
SET surplus = ARRAY(
  SELECT c.call_id
  FROM \`${dataset}.calls\` AS c
  WHERE ${within('c')}
    AND CONCAT(CAST(c.ledger_epoch AS STRING), ' ', CAST(c.revision AS STRING), ' ', c.call_id) IN (${texts.join(', ')})
);
${deletions.join('\n')}
COMMIT TRANSACTION;
END;
`;
};

/** One script: removes child rows of these ids whose call has no row of the same time in `calls`. */
export const removeOrphansScript = (dataset: string, layout: Layout, callIds: readonly string[]): string => {
  const ids = callIds.map(quote).join(', ');
  const deletions = keptTables(layout.documents)
    .filter(({ kind }) => kind === 'child')
    .map(
      ({ name }) =>
        `DELETE FROM \`${dataset}.${name}\` AS t\nWHERE t.call_id IN (${ids}) AND ${rowKey('t')} NOT IN UNNEST(kept);`,
    );
  return `BEGIN
DECLARE kept ARRAY<STRING> DEFAULT [];
BEGIN TRANSACTION;
SET kept = ARRAY(
  SELECT ${rowKey('c')} FROM \`${dataset}.calls\` AS c WHERE c.call_id IN (${ids})
);
${deletions.join('\n')}
COMMIT TRANSACTION;
END;
`;
};
