/** The statements of a load, and of the row of `sync_state`. */
import { allFields, type ColumnType, childTables, tableOf, tombstonesTable } from '../../../schemas/tables.ts';
import { toTimestamp } from '../../postgres/database.ts';
import { columnsOf, type Layout, qualified, quote, tablesOf } from './layout.ts';

export type LoadSql = ReturnType<typeof loadSql>;

const upsertSet = (names: readonly string[], key: readonly string[]): string =>
  names
    .filter((name) => !key.includes(name))
    .map((name) => `${quote(name)} = excluded.${quote(name)}`)
    .join(', ');

/** Element types of parameters; all others are text. */
const logTypes: Partial<Record<ColumnType, string>> = { int: 'bigint', timestamp: 'float8' };

/** The statements of a load, with ids, keys or load values as parameters. A commit empties the temporary tables. */
export const loadSql = (layout: Layout) => {
  const calls = qualified(layout, 'calls');
  const changes = qualified(layout, 'changes');
  const names = columnsOf(tableOf('calls')).map((column) => column.name);
  const list = names.map(quote).join(', ');
  const claim = (comparison: '<' | '<=') => `INSERT INTO ${calls} AS c (${list})
SELECT ${list} FROM stage_calls ORDER BY call_id COLLATE "C"
ON CONFLICT (call_id) DO UPDATE SET ${upsertSet(names, ['call_id'])}
 WHERE (c.ledger_epoch, c.revision, c.flatten_version) ${comparison}
       (excluded.ledger_epoch, excluded.revision, excluded.flatten_version)
RETURNING call_id, xmax = 0 AS is_new`;
  const children = childTables(layout.documents);
  const sent = [...tablesOf(layout), tombstonesTable].flatMap((table) =>
    columnsOf(table).map(({ name, type }) => [`${table.name}.${name}`, type.replace('tz', ' with time zone')]),
  );
  const upserted = tablesOf(layout).filter(({ kind }) => kind === 'log' || kind === 'state');
  return {
    // Without the constraints of the table, nor columns that its owner added. Nobody can change a type from then on.
    stage: `LOCK TABLE ${[calls, ...children.map(({ name }) => qualified(layout, name))].join(', ')} IN ROW EXCLUSIVE MODE;
CREATE TEMPORARY TABLE IF NOT EXISTS stage_calls ON COMMIT DELETE ROWS AS SELECT ${list} FROM ${calls} WITH NO DATA`,
    // Columns of types that take other bytes than COPY sends, or lose a part of a value. Parameter: the schema.
    retyped: `SELECT place FROM jsonb_each_text('${JSON.stringify(Object.fromEntries(sent))}') AS s(place, sent)
  JOIN pg_attribute a ON a.attrelid = to_regclass(quote_ident($1) || '.' || split_part(place, '.', 1)) AND a.attname = split_part(place, '.', 2)::name
  JOIN pg_type t ON t.oid = a.atttypid
 WHERE sent NOT IN (replace(format_type(a.atttypid, a.atttypmod), 'without', 'with'), format_type(t.typbasetype, t.typtypmod))
   AND NOT (sent = 'text' AND t.typcategory IN ('S', 'E')) ORDER BY place`,
    // Writes calls of a lower guard and returns their ids; `claimEqual` those of an equal guard too.
    claim: claim('<'),
    claimEqual: claim('<='),
    takeKeys: `INSERT INTO ${calls} AS c (call_id, utterance_count, word_count, tag_count, ledger_epoch, revision, flatten_version, load_id)
SELECT id, 0, 0, 0, $2, 0, 0, $3 FROM unnest($1::text[]) AS id ORDER BY id COLLATE "C"
ON CONFLICT (call_id) DO UPDATE SET load_id = c.load_id`,
    // Parameter: the load that the warehouse had last, or null.
    look: `SELECT $1::text IS NULL OR EXISTS (SELECT FROM ${qualified(layout, 'loads')} WHERE load_id = $1) AS follows,
  EXISTS (SELECT FROM ${qualified(layout, 'tombstones')}) AS "hasTombstones",
  to_regclass('${qualified(layout, 'transcript_search')}') IS NOT NULL AS "isSearched"`,
    blocked: `SELECT call_key FROM ${qualified(layout, 'tombstones')} WHERE call_key = ANY($1)`,
    deleteChildren: `WITH ${children
      .map(({ name }) => `${name} AS (DELETE FROM ${qualified(layout, name)} WHERE call_id = ANY($1))`)
      .join(',\n  ')}
SELECT`,
    deleteCalls: `DELETE FROM ${calls} WHERE call_id = ANY($1)`,
    // Adds rows that are not there yet; of rows for the first revision of a call, the first stays.
    addChanges: `INSERT INTO ${changes} (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
SELECT u.call_id, ${toTimestamp('u.call_timestamp')}, u.field, u.revision, u.source, ${toTimestamp('u.observed_at')},
       coalesce(${toTimestamp('u.loaded_at')}, clock_timestamp()), u.kind
  FROM unnest($1::text[], $2::float8[], $3::text[], $4::int[], $5::text[], $6::float8[], $7::float8[], $8::text[])
       AS u(call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
 WHERE u.field <> '${allFields}'
    OR u.call_id NOT IN (SELECT c.call_id FROM ${changes} c WHERE c.call_id = ANY($1) AND c.field = '${allFields}')
ON CONFLICT DO NOTHING`,
    deleteChanges: `DELETE FROM ${changes} WHERE call_id = ANY($1)`,
    tombstone: `INSERT INTO ${qualified(layout, 'tombstones')} AS t (call_key, ledger_epoch, revision, load_id, erased_at)
SELECT key, $2, revision, $4, now() FROM unnest($1::text[], $3::int[]) AS u(key, revision) ORDER BY key
ON CONFLICT (call_key) DO UPDATE SET ledger_epoch = excluded.ledger_epoch, revision = excluded.revision, load_id = excluded.load_id
 WHERE (t.ledger_epoch, t.revision) < (excluded.ledger_epoch, excluded.revision)
RETURNING call_key`,
    // Replaces the id of deliveries by the keyed hash, because a restored ledger may not know all of them.
    renameDeliveries: `UPDATE ${qualified(layout, 'deliveries')} AS d SET call_id = u.name
  FROM unnest($1::text[], $2::text[]) AS u(id, name),
       (SELECT arrival_id FROM ${qualified(layout, 'deliveries')} WHERE call_id = ANY($1) ORDER BY arrival_id FOR UPDATE) AS held
 WHERE d.arrival_id = held.arrival_id AND d.call_id = u.id`,
    // Of log tables, and of the one row of `sync_state`. Parameters: an array of each column.
    upserts: Object.fromEntries(
      upserted.map((table): [string, string] => {
        const columns = columnsOf(table).map((column) => column.name);
        const key = table.key.map(quote).join(', ');
        const values = table.columns.map(({ name, type }) =>
          type === 'timestamp' ? toTimestamp(quote(name)) : quote(name),
        );
        const arrays = table.columns.map(({ type }, at) => `$${at + 1}::${logTypes[type] ?? 'text'}[]`);
        return [
          table.name,
          `INSERT INTO ${qualified(layout, table.name)} AS t (${columns.map(quote).join(', ')})
SELECT DISTINCT ON (${key}) ${values.join(', ')} FROM unnest(${arrays.join(', ')}) AS u(${columns.map(quote).join(', ')}) ORDER BY ${key}
ON CONFLICT (${key}) DO UPDATE SET ${upsertSet(columns, table.key)}${table.kind === 'state' ? ' WHERE t.heartbeat_at <= excluded.heartbeat_at' : ''}`,
        ];
      }),
    ),
  };
};
