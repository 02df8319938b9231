/** Removing calls that the ledger does not know. */
import type { CallGuard } from '../warehouse.ts';
import { callTablesOf, type Layout } from './ddl.ts';
import { coverDates, inPartitions, partitionOf } from './partitions.ts';

/**
 * One script: removes the rows of calls whose guard is still the given one, in the partitions of the guards. Parameter
 * @guards: an array of texts made by `guardText`.
 */
export const removeScript = (dataset: string, layout: Layout, dates: Iterable<string | null>): string => {
  const ranges = coverDates(dates);
  const within = (alias: string): string => inPartitions(`${alias}.call_timestamp`, ranges);
  const deletions = callTablesOf(layout).map(
    ({ name }) => `DELETE FROM \`${dataset}.${name}\` AS t\nWHERE ${within('t')}\n  AND t.call_id IN UNNEST(surplus);`,
  );
  return `BEGIN
DECLARE surplus ARRAY<STRING> DEFAULT [];
BEGIN TRANSACTION;
SET surplus = ARRAY(
  SELECT c.call_id
  FROM \`${dataset}.calls\` AS c
  WHERE ${within('c')}
    AND CONCAT(CAST(c.ledger_epoch AS STRING), ' ', CAST(c.revision AS STRING), ' ', c.call_id) IN UNNEST(@guards)
);
${deletions.join('\n')}
COMMIT TRANSACTION;
END;
`;
};

/** Text by which the script knows a guard again. */
export const guardText = ({ epoch, revision, callId }: CallGuard): string => `${epoch} ${revision} ${callId}`;

export const datesOfGuards = (guards: readonly CallGuard[]): Set<string | null> =>
  new Set(guards.map(({ callTimestamp }) => partitionOf(callTimestamp)));

/** One script: removes child rows of the ids in @ids whose call has no row in `calls`. */
export const removeOrphansScript = (dataset: string, layout: Layout): string => {
  const deletions = callTablesOf(layout)
    .filter(({ kind }) => kind === 'child')
    .map(({ name }) => `DELETE FROM \`${dataset}.${name}\` AS t\nWHERE t.call_id IN UNNEST(orphans);`);
  return `BEGIN
DECLARE orphans ARRAY<STRING> DEFAULT [];
BEGIN TRANSACTION;
SET orphans = ARRAY(
  SELECT id FROM UNNEST(@ids) AS id WHERE id NOT IN (SELECT c.call_id FROM \`${dataset}.calls\` AS c)
);
${deletions.join('\n')}
COMMIT TRANSACTION;
END;
`;
};
