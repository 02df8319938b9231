/**
 * The one script of a commit: claims the calls whose guard is higher, then applies every table in one transaction.
 *
 * Its result is one row, `changed`. Each statement bills at least 10 MB for each table that it reads, so statements of what a batch does not
 * have are left out, and those of calls are skipped when there is nothing to delete or to write.
 */
import { type Column, guardColumns, type Table, wordsView } from '../../../schemas/tables.ts';
import { callTablesOf, decimalTypeOf, type Layout, logTables, quote, stagedColumns } from './ddl.ts';
import { coverDates, inPartitions } from './partitions.ts';

/** What the script knows of its load; declared as variables at its head. */
export interface ScriptLoad {
  readonly id: string;
  readonly origin: string;
  readonly epoch: number;
  readonly flattenVersion: number;
  readonly sent: number;
  /** Calls changed by earlier parts of a load that had to be cut. */
  readonly changedBefore: number;
  readonly stagedRows: number;
}

export interface ScriptInput {
  readonly load: ScriptLoad;
  /** `project.dataset`. */
  readonly dataset: string;
  /** `project.dataset.table`. */
  readonly staging: string;
  readonly layout: Layout;
  readonly calls: boolean;
  readonly tombstones: boolean;
  /**
   * Whether calls not sent before may stand here all the same, from an earlier ledger: then their partitions are
   * looked up by the script. Erased calls are always looked up.
   */
  readonly unknownPartitions: boolean;
  /** Also claims calls whose guard is equal. */
  readonly force: boolean;
  /** Whether a call of the batch has been or will be sent under more than one date. */
  readonly moved: boolean;
  /** Old and new dates of the batch's calls. */
  readonly partitions: Iterable<string | null>;
  /** False for the earlier parts of a load that had to be cut: the last one writes the row in `loads`. */
  readonly last: boolean;
  /** Log tables of the batch, each with the dates of its rows where the table is partitioned. */
  readonly logs: ReadonlyMap<string, readonly (string | null)[]>;
}

export const writeLoadScript = (input: ScriptInput): string => {
  const parts = [
    declareVariables(input),
    checkStaging(input),
    'BEGIN TRANSACTION;',
    passFence(input),
    ...(input.calls || input.tombstones ? applyCalls(input) : []),
    ...(input.tombstones ? [mergeTombstones(input), forgetMoves(input)] : []),
    ...logTables.filter(({ name }) => input.logs.has(name)).map((table) => mergeLog(input, table)),
    ...(input.last ? [insertLoad(input)] : []),
    'COMMIT TRANSACTION;\nSELECT ARRAY_LENGTH(claimed) AS changed;',
  ];
  // A block, so that printed scripts can follow one another with variables of the same names.
  return `BEGIN\n${parts.join('\n\n')}\nEND;\n`;
};

const declareVariables = (input: ScriptInput): string => {
  const { load } = input;
  const variables = [
    ['this_load STRING', quote(load.id)],
    ['this_origin STRING', quote(load.origin)],
    ['this_epoch INT64', load.epoch],
    ['this_flatten INT64', load.flattenVersion],
    ['sent_calls INT64', load.sent],
    ['changed_before INT64', load.changedBefore],
    ['staged_rows INT64', load.stagedRows],
    ['claimed ARRAY<INT64>', '[]'],
    ['removed ARRAY<INT64>', '[]'],
    ...(findsUnknownPartitions(input) ? [['unknownPartitions ARRAY<DATE>', '[]']] : []),
  ];
  return variables.map(([variable, value]) => `DECLARE ${variable} DEFAULT ${value};`).join('\n');
};

const findsUnknownPartitions = (input: ScriptInput): boolean => input.unknownPartitions || input.tombstones;

/** A staging table that expired and was made again is empty: applying it would commit a load that wrote nothing. */
const checkStaging = ({ staging }: ScriptInput): string => `IF (SELECT COUNT(*) FROM \`${staging}\`) != staged_rows THEN
  SELECT ERROR('staging is incomplete');
END IF;`;

/** Insertions alone do not conflict in BigQuery; this change makes any two commits do so. */
const passFence = ({ dataset }: ScriptInput): string => `MERGE \`${dataset}.fence\` AS t
USING (SELECT this_epoch AS ledger_epoch) AS x
ON TRUE
WHEN MATCHED THEN UPDATE SET
  earlier_epochs = IF(t.ledger_epoch < x.ledger_epoch, TRUE, t.earlier_epochs),
  ledger_epoch = GREATEST(t.ledger_epoch, x.ledger_epoch),
  load_id = this_load
WHEN NOT MATCHED THEN INSERT (ledger_epoch, earlier_epochs, load_id) VALUES (x.ledger_epoch, FALSE, this_load);`;

const applyCalls = (input: ScriptInput): string[] => {
  const ranges = coverDates(input.partitions);
  const pruned = (alias: string): string => {
    const known = inPartitions(`${alias}.call_timestamp`, ranges);
    return findsUnknownPartitions(input)
      ? `(${known} OR DATE(${alias}.call_timestamp) IN UNNEST(unknownPartitions))`
      : known;
  };
  const tables = callTablesOf(input.layout);
  const names = [...tables.map(({ name }) => name), ...(input.layout.words === 'rows' ? [wordsView.name] : [])];
  return [
    ...(findsUnknownPartitions(input) ? [findUnknownPartitions(input)] : []),
    claim(input, pruned('c')),
    findRemoved(input, pruned('c')),
    whenAny(
      'removed',
      names.map((name) => removeRows(input, name, pruned('t'))),
    ),
    ...(input.calls ? [whenAny('claimed', writesOfCalls(input, tables))] : []),
  ];
};

const writesOfCalls = (input: ScriptInput, tables: readonly Table[]): string[] => [
  ...tables.map((table) => insertRows(input, table)),
  ...(input.layout.words === 'rows' ? [insertWords(input)] : []),
  ...(input.moved || input.unknownPartitions ? [mergeMoves(input)] : []),
];

const whenAny = (variable: string, statements: readonly string[]): string =>
  [`IF ARRAY_LENGTH(${variable}) > 0 THEN`, ...statements, 'END IF;'].join('\n');

/** Dates under which calls stand that this ledger has not sent, or that are to be erased. */
const findUnknownPartitions = ({
  dataset,
  staging,
  unknownPartitions,
}: ScriptInput): string => `SET unknownPartitions = ARRAY(
  SELECT DISTINCT DATE(c.call_timestamp)
  FROM \`${dataset}.calls\` AS c
  INNER JOIN \`${staging}\` AS x ON x.call_id = c.call_id
  WHERE ${unknownPartitions ? 'NOT x.sent_before' : "x.kind = 'tombstone'"} AND c.call_timestamp IS NOT NULL
);`;

/** Whether a guard that stands is at least that of the staged row. */
const notLower = (standing: string, flatten: string): string => `(${standing}.ledger_epoch > this_epoch
          OR (${standing}.ledger_epoch = this_epoch AND (${standing}.revision > x.revision
            OR (${standing}.revision = x.revision AND ${flatten}))))`;

/**
 * Rows of staging whose guard is higher than what stands: one a call, whatever a repeated upload left there. A call
 * that ever moved is also compared with its guard in moved_calls, because this load may not know where it went.
 */
const claim = ({ dataset, staging, tombstones, force }: ScriptInput, pruned: string): string => {
  const standing = force ? '>' : '>=';
  return `SET claimed = ARRAY(
  SELECT s.n
  FROM (
    SELECT n, kind, call_id, call_key
    FROM \`${staging}\`
    WHERE kind IN ('call', 'tombstone')
    QUALIFY ROW_NUMBER() OVER (PARTITION BY call_id ORDER BY kind DESC, revision DESC, n DESC) = 1
  ) AS s
  WHERE (s.kind = 'call'
    AND this_epoch >= (SELECT MAX(f.ledger_epoch) FROM \`${dataset}.fence\` AS f)
    AND s.call_key NOT IN (SELECT t.call_key FROM \`${dataset}.tombstones\` AS t)
    AND s.call_id NOT IN (
      SELECT c.call_id
      FROM \`${dataset}.calls\` AS c
      INNER JOIN \`${staging}\` AS x ON x.call_id = c.call_id
      WHERE x.kind = 'call'
        AND ${pruned}
        AND ${notLower('c', `c.flatten_version ${standing} this_flatten`)}
    )
    AND s.call_id NOT IN (
      SELECT m.call_id
      FROM \`${dataset}.moved_calls\` AS m
      INNER JOIN \`${staging}\` AS x ON x.call_id = m.call_id
      WHERE x.kind = 'call'
        AND ${notLower('m', `m.flatten_version ${standing} this_flatten`)}
    ))${
      tombstones
        ? `
    OR (s.kind = 'tombstone' AND s.call_key NOT IN (
      SELECT t.call_key
      FROM \`${dataset}.tombstones\` AS t
      INNER JOIN \`${staging}\` AS x ON x.call_key = t.call_key
      WHERE x.kind = 'tombstone'
        AND ${notLower('t', 'TRUE')}
    ))`
        : ''
    }
);`;
};

/** Claimed calls of which something may stand, and every erased call: what stands of them goes, in all tables. */
const findRemoved = ({ dataset, staging }: ScriptInput, pruned: string): string => `SET removed = ARRAY(
  SELECT s.n
  FROM \`${staging}\` AS s
  WHERE s.kind = 'tombstone'
    OR (s.n IN UNNEST(claimed)
      AND (s.sent_before OR s.call_id IN (SELECT c.call_id FROM \`${dataset}.calls\` AS c WHERE ${pruned})))
);`;

const removeRows = ({ dataset, staging }: ScriptInput, table: string, pruned: string): string =>
  `DELETE FROM \`${dataset}.${table}\` AS t
WHERE ${pruned}
  AND t.call_id IN (SELECT s.call_id FROM \`${staging}\` AS s WHERE s.n IN UNNEST(removed));`;

const mergeMoves = ({ dataset, staging }: ScriptInput): string => `MERGE \`${dataset}.moved_calls\` AS t
USING (
  SELECT s.call_id AS call_id, s.revision AS revision
  FROM \`${staging}\` AS s
  WHERE s.kind = 'call' AND s.n IN UNNEST(claimed)
    AND (s.moved OR (NOT s.sent_before AND s.n IN UNNEST(removed)))
) AS x
ON t.call_id = x.call_id
WHEN MATCHED THEN UPDATE SET
  ledger_epoch = this_epoch, revision = x.revision, flatten_version = this_flatten
WHEN NOT MATCHED THEN INSERT (call_id, ledger_epoch, revision, flatten_version)
  VALUES (x.call_id, this_epoch, x.revision, this_flatten);`;

const forgetMoves = ({ dataset, staging }: ScriptInput): string => `DELETE FROM \`${dataset}.moved_calls\` AS t
WHERE t.call_id IN (SELECT s.call_id FROM \`${staging}\` AS s WHERE s.kind = 'tombstone');`;

const insertRows = ({ dataset, staging, layout }: ScriptInput, table: Table): string => {
  const columns = stagedColumns(table, layout).filter((column) => column.type !== 'words' || layout.words === 'arrays');
  const guard = table.kind === 'call';
  return insertSelect(
    `${dataset}.${table.name}`,
    [...columns, ...(guard ? guardColumns : [])].map((column) => column.name),
    [
      ...columns.map((column) => callValue(column, layout)),
      ...(guard ? ['this_epoch', 's.revision', 'this_flatten', 'this_load'] : []),
    ],
    `\`${staging}\` AS s, UNNEST(s.${table.name}) AS r`,
  );
};

const insertWords = ({ dataset, staging }: ScriptInput): string =>
  insertSelect(
    `${dataset}.${wordsView.name}`,
    wordsView.columns.map((column) => column.name),
    [
      's.call_id',
      'TIMESTAMP_MICROS(s.call_timestamp)',
      'r.utterance_index',
      'word_index',
      'r.side',
      'w.value',
      'w.start',
      'w.length',
      'w.score',
    ],
    `\`${staging}\` AS s, UNNEST(s.utterances) AS r, UNNEST(r.words) AS w WITH OFFSET AS word_index`,
  );

const insertSelect = (target: string, names: readonly string[], values: readonly string[], from: string): string => {
  return `INSERT INTO \`${target}\` (${names.join(', ')})
SELECT
  ${values.join(',\n  ')}
FROM ${from}
WHERE s.kind = 'call' AND s.n IN UNNEST(claimed);`;
};

const callValue = (column: Column, layout: Layout): string => {
  if (column.name === 'call_id') return 's.call_id';
  if (column.name === 'call_timestamp') return 'TIMESTAMP_MICROS(s.call_timestamp)';
  return staged(column, layout);
};

/** A staged value in the type of its column. JSON numbers are rounded to FLOAT64 as every reader of JSON does. */
const staged = (column: Column, layout: Layout): string => {
  const value = `r.${column.name}`;
  if (column.type === 'timestamp') return `TIMESTAMP_MICROS(${value})`;
  if (column.type === 'json') return `PARSE_JSON(${value}, wide_number_mode => 'round')`;
  if (column.type === 'decimal' && decimalTypeOf(layout) === 'BIGNUMERIC') return `CAST(${value} AS BIGNUMERIC)`;
  return value;
};

const mergeTombstones = ({ dataset, staging }: ScriptInput): string => `MERGE \`${dataset}.tombstones\` AS t
USING (
  SELECT s.call_key AS call_key, MAX(s.revision) AS revision
  FROM \`${staging}\` AS s
  WHERE s.kind = 'tombstone' AND s.n IN UNNEST(claimed)
  GROUP BY s.call_key
) AS x
ON t.call_key = x.call_key
WHEN MATCHED THEN UPDATE SET
  ledger_epoch = this_epoch, revision = x.revision, load_id = this_load, erased_at = CURRENT_TIMESTAMP()
WHEN NOT MATCHED THEN INSERT (call_key, ledger_epoch, revision, load_id, erased_at)
  VALUES (x.call_key, this_epoch, x.revision, this_load, CURRENT_TIMESTAMP());`;

/** Log rows by key, last one of the batch wins. The column of the partition never changes for a key. */
const mergeLog = ({ dataset, staging, logs, layout }: ScriptInput, table: Table): string => {
  const columns = stagedColumns(table, layout);
  const dates = logs.get(table.name) ?? [];
  const on = table.key.map((name) => `t.${name} = x.${name}`);
  if (table.name === 'deliveries') on.push(inPartitions('t.received_at', coverDates(dates)));
  const rest = columns.filter((column) => !table.key.includes(column.name));
  const names = columns.map((column) => column.name);
  return `MERGE \`${dataset}.${table.name}\` AS t
USING (
  SELECT
    ${columns.map((column) => `${staged(column, layout)} AS ${column.name}`).join(',\n    ')}
  FROM \`${staging}\` AS s, UNNEST(s.${table.name}) AS r
  WHERE s.kind = 'log'
  QUALIFY ROW_NUMBER() OVER (PARTITION BY ${table.key.map((name) => `r.${name}`).join(', ')} ORDER BY s.n DESC) = 1
) AS x
ON ${on.join(' AND ')}
WHEN MATCHED THEN UPDATE SET
  ${rest.map((column) => `${column.name} = x.${column.name}`).join(', ')}
WHEN NOT MATCHED THEN INSERT (${names.join(', ')})
  VALUES (${names.map((name) => `x.${name}`).join(', ')});`;
};

/** A load that is applied again keeps the row of its first commit. */
const insertLoad = ({ dataset }: ScriptInput): string => `INSERT INTO \`${dataset}.loads\`
  (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
SELECT this_load, this_epoch, this_flatten, this_origin, sent_calls,
  changed_before + ARRAY_LENGTH(claimed), CURRENT_TIMESTAMP()
FROM UNNEST([1])
WHERE this_load NOT IN (SELECT l.load_id FROM \`${dataset}.loads\` AS l);`;
