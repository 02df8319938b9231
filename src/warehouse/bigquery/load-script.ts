/**
 * The script of a commit: claims the calls with a higher guard, then changes every table in one transaction. The result
 * is one row: `changed`, the number of claimed calls and tombstones, and `committed_at`. Each function below returns
 * one statement. BigQuery bills at least 10 MB for each table that a statement reads. The script therefore omits
 * unneeded statements, and IF skips empty ones.
 */
import type { Column, Table } from '../../../schemas/tables.ts';
import { allFields, columnsOf, erasedPrefix, keptTables, tableOf, tombstonesTable } from '../../../schemas/tables.ts';
import type { LoadBatch } from '../warehouse.ts';
import { decimalTypeOf, type Layout, logTables, quote } from './ddl.ts';
import { coverDates, datesOf, inPartitions, isMoved, partitionOf } from './partitions.ts';

interface ScriptInput {
  readonly batch: LoadBatch;
  /** Whether an earlier ledger may have written calls under dates that this one never sent. */
  readonly unknownPartitions: boolean;
  /** `project.dataset`. */
  readonly dataset: string;
  /** `project.dataset.table`. */
  readonly staging: string;
  readonly stagedRows: number;
  /** Tables of which at least one row is staged; the others of calls get no statement that inserts. */
  readonly filled: ReadonlySet<string>;
  readonly layout: Layout;
}

export const writeLoadScript = (input: ScriptInput): string => {
  const { batch, layout } = input;
  const [calls, tombstones] = [batch.calls.length > 0, batch.tombstones.length > 0];
  const tables = keptTables(layout.documents);
  const within = partitionFilter(input);
  const deletions = tables.map(({ name }) => deleteRows(input, name, within('t')));
  const removal = [findRemoved(input, within('c')), when('ARRAY_LENGTH(removed) > 0', deletions)];
  const additions = [
    ...(tombstones ? [] : removal),
    ...tables.filter(({ name }) => input.filled.has(name)).map((table) => insertRows(input, table)),
    ...recordMoves(input),
    ...(input.filled.has('changes') ? addChanges(input, within('t')) : []),
  ];
  const statements = [
    declareVariables(input),
    checkStaging(input),
    'BEGIN TRANSACTION;',
    passFence(input),
    ...(looksUpDates(input) ? [findUnknownDates(input)] : []),
    ...(calls ? [claimCalls(input, within('c'))] : []),
    ...(tombstones ? [claimTombstones(input)] : []),
    ...(calls || tombstones ? [`SET claimed = ${countSent(batch)} - ARRAY_LENGTH(refused);`] : []),
    ...(tombstones ? removal : []),
    ...(calls ? [when('claimed > 0', additions)] : []),
    ...(tombstones
      ? [
          deleteErased(input, 'changes'),
          mergeTombstones(input),
          deleteErased(input, 'moved_calls'),
          renameDeliveries(input),
        ]
      : []),
    ...logTables.flatMap((table) => mergeLog(input, table)),
    insertLoad(input),
    'COMMIT TRANSACTION;',
    'SELECT claimed AS changed, UNIX_MICROS(CURRENT_TIMESTAMP()) AS committed_at;',
  ];
  // A block, so that printed scripts can follow one another with variables of the same names.
  return `BEGIN\n${statements.join('\n\n')}\nEND;\n`;
};

/**
 * The condition that limits a statement to the batch's partitions. Literals prune partitions; dates that the script
 * looks up are added only where they may exist.
 */
const partitionFilter = (input: ScriptInput): ((alias: string) => string) => {
  // Old and new dates of the calls.
  const ranges = coverDates([...input.batch.calls, ...input.batch.tombstones].flatMap(datesOf));
  return (alias) => {
    const known = inPartitions(`${alias}.call_timestamp`, ranges);
    return looksUpDates(input) ? `(${known} OR DATE(${alias}.call_timestamp) IN UNNEST(unknown_dates))` : known;
  };
};

const looksUpDates = ({ unknownPartitions, batch }: ScriptInput) => unknownPartitions || batch.tombstones.length > 0;

const when = (condition: string, statements: readonly string[]): string =>
  [`IF ${condition} THEN`, ...statements, 'END IF;'].join('\n');

const declareVariables = ({ batch }: ScriptInput): string =>
  `DECLARE this_load STRING DEFAULT ${quote(batch.loadId)};
DECLARE this_epoch INT64 DEFAULT ${batch.epoch};
DECLARE this_flatten INT64 DEFAULT ${batch.flattenVersion};
DECLARE claimed INT64 DEFAULT 0;
DECLARE refused ARRAY<INT64> DEFAULT [];
DECLARE removed ARRAY<INT64> DEFAULT [];
DECLARE unknown_dates ARRAY<DATE> DEFAULT [];`;

/** An expired staging table that was created again is empty: applying it would commit a load that wrote nothing. */
const checkStaging = ({ staging, stagedRows }: ScriptInput): string =>
  `IF (SELECT COUNT(*) FROM \`${staging}\`) != ${stagedRows} THEN
  SELECT ERROR('staging is incomplete');
END IF;`;

/** Insertions alone do not conflict in BigQuery; this change makes any two commits do so. */
const passFence = ({ dataset }: ScriptInput): string =>
  `MERGE \`${dataset}.fence\` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);`;

/**
 * Dates of all rows of the batch's calls, also of earlier loads: a restored ledger may not know the last date of a
 * call.
 */
const findUnknownDates = ({ dataset, staging }: ScriptInput): string =>
  `SET unknown_dates = ARRAY(
  SELECT DISTINCT DATE(c.call_timestamp)
  FROM \`${dataset}.calls\` AS c
  INNER JOIN \`${staging}\` AS x ON x.call_id = c.call_id
  WHERE c.call_timestamp IS NOT NULL
);`;

/**
 * Claims staged calls that are not erased and whose guard is higher than the stored one. The others are refused; of new
 * calls none is. Calls that ever moved are compared with `moved_calls` too, because this load may not know the partition
 * of the stored row. A call that has the same revision is claimed where its flatten version is lower, or by force.
 */
const claimCalls = ({ dataset, staging, batch }: ScriptInput, withinC: string): string =>
  `SET refused = ARRAY(
  SELECT s.n
  FROM \`${staging}\` AS s
  WHERE s.kind = 'call'
    AND (
      this_epoch < (SELECT MAX(f.ledger_epoch) FROM \`${dataset}.fence\` AS f)
      OR s.call_key IN (SELECT t.call_key FROM \`${dataset}.tombstones\` AS t)
      OR s.call_id IN (
        SELECT x.call_id
        FROM \`${staging}\` AS x
        INNER JOIN (
          SELECT c.call_id, c.ledger_epoch, c.revision, c.flatten_version FROM \`${dataset}.calls\` AS c
          WHERE ${withinC}
          UNION ALL
          SELECT m.call_id, m.ledger_epoch, m.revision, m.flatten_version FROM \`${dataset}.moved_calls\` AS m
        ) AS g ON g.call_id = x.call_id
        WHERE x.kind = 'call'
          AND (g.ledger_epoch > this_epoch
            OR (g.ledger_epoch = this_epoch AND g.revision > x.revision)
            OR (g.ledger_epoch = this_epoch AND g.revision = x.revision AND g.flatten_version >= this_flatten${batch.force === true ? ' + 1' : ''}))
      )
    )
);`;

/** Claims staged tombstones that are not stored with the same guard or a higher one. */
const claimTombstones = ({ dataset, staging }: ScriptInput): string =>
  `SET refused = ARRAY_CONCAT(refused, ARRAY(
  SELECT s.n
  FROM \`${staging}\` AS s
  WHERE s.kind = 'tombstone'
    AND s.call_key IN (
      SELECT t.call_key
      FROM \`${dataset}.tombstones\` AS t
      INNER JOIN \`${staging}\` AS x ON x.call_key = t.call_key
      WHERE x.kind = 'tombstone'
        AND (t.ledger_epoch > this_epoch OR (t.ledger_epoch = this_epoch AND t.revision >= x.revision))
    )
));`;

/** Claimed calls that may have rows already, and every erased call: their rows are deleted from all tables. */
const findRemoved = ({ dataset, staging }: ScriptInput, withinC: string): string =>
  `SET removed = ARRAY(
  SELECT s.n
  FROM \`${staging}\` AS s
  WHERE s.kind = 'tombstone'
    OR (s.kind = 'call' AND s.n NOT IN UNNEST(refused)
      AND (s.sent_before OR s.call_id IN (SELECT c.call_id FROM \`${dataset}.calls\` AS c WHERE ${withinC})))
);`;

const deleteRows = ({ dataset, staging }: ScriptInput, table: string, withinT: string): string =>
  `DELETE FROM \`${dataset}.${table}\` AS t
WHERE ${withinT}
  AND t.call_id IN (SELECT s.call_id FROM \`${staging}\` AS s WHERE s.n IN UNNEST(removed));`;

const insertRows = ({ dataset, staging, layout }: ScriptInput, table: Table): string => {
  const guardValues =
    table.kind === 'call' ? ['this_epoch', 's.revision', 'this_flatten', 'this_load', 's.content_hash'] : [];
  const names = columnsOf(table).map((column) => column.name);
  const values = [...table.columns.map((column) => callValue(column, layout)), ...guardValues];
  return `INSERT INTO \`${dataset}.${table.name}\` (${names.join(', ')})
SELECT
  ${values.join(',\n  ')}
FROM ${claimedCalls(staging, table.name)} AS s, UNNEST(s.${table.name}) AS r;`;
};

/** A relation: beside a condition, the emulator would unnest by a join. */
const claimedCalls = (staging: string, rows: string): string => `(
  SELECT call_id, call_timestamp, revision, content_hash, ${rows} FROM \`${staging}\`
  WHERE kind = 'call' AND n NOT IN UNNEST(refused)
)`;

/**
 * Rows of table changes. If all claimed calls are new, the script reads only the staging table. Otherwise it omits
 * existing rows, and keeps the first row of a call's first revision.
 * Under an earlier ledger a call may have moved from an unknown date; then it reads all.
 */
const addChanges = ({ dataset, staging, layout, unknownPartitions }: ScriptInput, withinT: string): string[] => {
  const { columns } = tableOf('changes');
  const target = `\`${dataset}.changes\` (${columns.map(({ name }) => name).join(', ')})`;
  const values = columns.map((column) => callValue(column, layout)).join(', ');
  const insert = `INSERT INTO ${target}
SELECT ${values}
FROM ${claimedCalls(staging, 'changes')} AS s CROSS JOIN UNNEST(s.changes) AS r`;
  const missing = `LEFT JOIN (
  SELECT t.call_id, t.field, t.observed_at, t.source FROM \`${dataset}.changes\` AS t
  WHERE ${unknownPartitions ? 'TRUE' : withinT}
) AS h
ON h.call_id = s.call_id AND h.field = r.field
  AND (r.field = '${allFields}' OR (h.observed_at = TIMESTAMP_MICROS(r.observed_at) AND h.source = r.source))
WHERE h.call_id IS NULL;`;
  return [
    when('ARRAY_LENGTH(removed) = 0', [`${insert};`]),
    when('ARRAY_LENGTH(removed) > 0', [`${insert}\n${missing}`]),
  ];
};

/** In every partition, because a restored ledger may not know the earlier date of a call. */
const deleteErased = ({ dataset, staging }: ScriptInput, table: string): string =>
  `DELETE FROM \`${dataset}.${table}\` AS t
WHERE t.call_id IN (SELECT s.call_id FROM \`${staging}\` AS s WHERE s.kind = 'tombstone');`;

/** Guards of claimed calls that moved, or that were found under a date that this ledger did not send. */
const recordMoves = ({ dataset, staging, batch, unknownPartitions }: ScriptInput): string[] =>
  !batch.calls.some(isMoved) && !unknownPartitions
    ? []
    : [
        mergeRows(
          `${dataset}.moved_calls`,
          ['call_id'],
          ['call_id', 'ledger_epoch', 'revision', 'flatten_version'],
          `  SELECT s.call_id AS call_id, this_epoch AS ledger_epoch, s.revision AS revision, this_flatten AS flatten_version
  FROM \`${staging}\` AS s
  WHERE s.kind = 'call' AND s.n NOT IN UNNEST(refused)
    AND (s.moved OR (NOT s.sent_before AND s.n IN UNNEST(removed)))`,
        ),
      ];

/** Deliveries get the keyed hash in place of the id: those that a restored ledger does not know were never told. */
const renameDeliveries = ({ dataset, staging }: ScriptInput): string =>
  `UPDATE \`${dataset}.deliveries\` AS t
SET call_id = CONCAT(${quote(erasedPrefix)}, s.call_key)
FROM \`${staging}\` AS s
WHERE s.kind = 'tombstone' AND t.call_id = s.call_id;`;

const mergeTombstones = ({ dataset, staging }: ScriptInput): string =>
  mergeRows(
    `${dataset}.tombstones`,
    tombstonesTable.key,
    namesOf(tombstonesTable),
    `  SELECT s.call_key AS call_key, this_epoch AS ledger_epoch, MAX(s.revision) AS revision, this_load AS load_id,
    CURRENT_TIMESTAMP() AS erased_at
  FROM \`${staging}\` AS s
  WHERE s.kind = 'tombstone' AND s.n NOT IN UNNEST(refused)
  GROUP BY s.call_key`,
  );

/** Log rows by key; the last row of the batch wins. The column of the partition never changes for a key. */
const mergeLog = ({ dataset, staging, batch, layout }: ScriptInput, { name, key, columns }: Table): string[] => {
  const rows = batch.logs[name as keyof LoadBatch['logs']] ?? [];
  if (rows.length === 0) return [];
  const dates = () => rows.map((row) => partitionOf(row.received_at as number | null));
  const within = name === 'deliveries' ? ` AND ${inPartitions('t.received_at', coverDates(dates()))}` : '';
  const source = `  SELECT
    ${columns.map((column) => `${stagedValue(column, layout)} AS ${column.name}`).join(',\n    ')}
  FROM \`${staging}\` AS s, UNNEST(s.${name}) AS r
  WHERE s.kind = 'log'
  QUALIFY ROW_NUMBER() OVER (PARTITION BY ${key.map((column) => `r.${column}`).join(', ')} ORDER BY s.n DESC) = 1`;
  return [mergeRows(`${dataset}.${name}`, key, namesOf({ columns }), source, { within })];
};

const namesOf = ({ columns }: Pick<Table, 'columns'>): readonly string[] => columns.map(({ name }) => name);

/**
 * Inserts the rows `x` of a query, or sets the other columns of the stored rows `t` with their key.
 * @param conditions `within` limits the read rows; `isNewer` the changed ones.
 */
export const mergeRows = (
  table: string,
  key: readonly string[],
  columns: readonly string[],
  source: string,
  { within = '', isNewer = '' } = {},
): string =>
  `MERGE \`${table}\` AS t
USING (
${source}
) AS x
ON ${key.map((column) => `t.${column} = x.${column}`).join(' AND ')}${within}
WHEN MATCHED${isNewer} THEN UPDATE SET
  ${columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = x.${column}`)
    .join(', ')}
WHEN NOT MATCHED THEN INSERT (${columns.join(', ')})
  VALUES (${columns.map((column) => `x.${column}`).join(', ')});`;

/** A load that is applied again keeps the row of its first commit. */
const insertLoad = ({ dataset, batch }: ScriptInput): string =>
  `INSERT INTO \`${dataset}.loads\`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, ${quote(batch.origin)}, ${countSent(batch)}, claimed, CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM \`${dataset}.loads\` AS l);`;

const countSent = ({ calls, tombstones }: LoadBatch): number => calls.length + tombstones.length;

const callValue = (column: Column, layout: Layout): string => {
  if (column.name === 'call_id') return 's.call_id';
  if (column.name === 'call_timestamp') return 'TIMESTAMP_MICROS(s.call_timestamp)';
  if (column.name === 'loaded_at') return 'COALESCE(TIMESTAMP_MICROS(r.loaded_at), CURRENT_TIMESTAMP())';
  return stagedValue(column, layout);
};

/** A staged value in the type of its column. JSON numbers are rounded to FLOAT64 as every reader of JSON does. */
const stagedValue = (column: Column, layout: Layout): string => {
  const value = `r.${column.name}`;
  if (column.type === 'timestamp') return `TIMESTAMP_MICROS(${value})`;
  if (column.type === 'json') return `PARSE_JSON(${value}, wide_number_mode => 'round')`;
  if (column.type === 'decimal' && decimalTypeOf(layout) === 'BIGNUMERIC') return `CAST(${value} AS BIGNUMERIC)`;
  return value;
};
