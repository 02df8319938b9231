/** One load = one transaction: claim the calls whose guard is lower, then replace the children of only those. */
import type pg from 'pg';
import { guardColumns, type Table, tableOf, type WordArrays, wordsView } from '../../../schemas/tables.ts';
import { BinaryCopyWriter, copyBinary } from '../../postgres/binary-copy.ts';
import type { CallLoad, LoadBatch, LoadResult, Row } from '../warehouse.ts';
import { columnsOf, type Layout, qualified, quote, rowWriter, tablesOf } from './layout.ts';

export interface LoadSql {
  readonly stage: string;
  readonly claim: (force: boolean) => string;
  readonly takeKeys: string;
  readonly blocked: string;
  readonly deleteChildren: readonly string[];
  readonly deleteCalls: string;
  readonly tombstone: string;
  readonly upsertLogs: Readonly<Record<string, { readonly stage: string; readonly upsert: string }>>;
}

const children = (layout: Layout): readonly Table[] => tablesOf(layout).filter((table) => table.kind === 'child');
const childNames = (layout: Layout): readonly string[] => [
  ...children(layout).map((table) => table.name),
  ...(layout.words === 'rows' ? [wordsView.name] : []),
];

const upsertSet = (names: readonly string[], key: readonly string[]): string =>
  names
    .filter((name) => !key.includes(name))
    .map((name) => `${quote(name)} = excluded.${quote(name)}`)
    .join(', ');

/** The statements of a load; parameters: ids, keys or load values. Temporary tables are emptied at commit. */
export const loadSql = (layout: Layout): LoadSql => {
  const calls = qualified(layout, 'calls');
  const names = columnsOf(tableOf('calls'), layout).map((column) => column.name);
  const list = names.map(quote).join(', ');
  const stageOf = (name: string) =>
    `CREATE TEMPORARY TABLE IF NOT EXISTS stage_${name} (LIKE ${qualified(layout, name)}) ON COMMIT DELETE ROWS`;
  const logs = tablesOf(layout).filter((table) => table.kind === 'log');
  return {
    stage: stageOf('calls'),
    claim: (force) => `INSERT INTO ${calls} AS c (${list})
SELECT ${list} FROM stage_calls ORDER BY call_id COLLATE "C"
ON CONFLICT (call_id) DO UPDATE SET ${upsertSet(names, ['call_id'])}
 WHERE (c.ledger_epoch, c.revision, c.flatten_version) ${force ? '<=' : '<'}
       (excluded.ledger_epoch, excluded.revision, excluded.flatten_version)
RETURNING call_id`,
    takeKeys: `INSERT INTO ${calls} AS c (call_id, utterance_count, word_count, tag_count, ledger_epoch, revision, flatten_version, load_id)
SELECT id, 0, 0, 0, $2, 0, 0, $3 FROM unnest($1::text[]) AS id ORDER BY id COLLATE "C"
ON CONFLICT (call_id) DO UPDATE SET load_id = c.load_id`,
    blocked: `SELECT call_key FROM ${qualified(layout, 'tombstones')} WHERE call_key = ANY($1)`,
    deleteChildren: childNames(layout).map((name) => `DELETE FROM ${qualified(layout, name)} WHERE call_id = ANY($1)`),
    deleteCalls: `DELETE FROM ${calls} WHERE call_id = ANY($1)`,
    tombstone: `INSERT INTO ${qualified(layout, 'tombstones')} AS t (call_key, ledger_epoch, revision, load_id)
SELECT key, $2, revision, $4 FROM unnest($1::text[], $3::int[]) AS u(key, revision) ORDER BY key
ON CONFLICT (call_key) DO UPDATE SET ledger_epoch = excluded.ledger_epoch, revision = excluded.revision, load_id = excluded.load_id
 WHERE (t.ledger_epoch, t.revision) < (excluded.ledger_epoch, excluded.revision)
RETURNING call_key`,
    upsertLogs: Object.fromEntries(
      logs.map((table) => {
        const columns = columnsOf(table, layout).map((column) => column.name);
        const key = table.key.map(quote).join(', ');
        const all = columns.map(quote).join(', ');
        return [
          table.name,
          {
            stage: stageOf(table.name),
            upsert: `INSERT INTO ${qualified(layout, table.name)} (${all}) SELECT DISTINCT ON (${key}) ${all} FROM stage_${table.name} ORDER BY ${key}
ON CONFLICT (${key}) DO UPDATE SET ${upsertSet(columns, table.key)}`,
          },
        ];
      }),
    ),
  };
};

/** The rows of one table on their way into a COPY. */
interface EncodedTable {
  readonly add: (row: Row) => void;
  /** Sends what was added, if anything. */
  readonly send: (client: pg.PoolClient) => Promise<void>;
}

const encodeTable = (layout: Layout, target: string, table: Table): EncodedTable => {
  const write = rowWriter(table.columns, layout, table.kind === 'log');
  let writer: BinaryCopyWriter | undefined;
  const names = columnsOf({ ...table, kind: table.kind === 'call' ? 'child' : table.kind }, layout).map((column) =>
    quote(column.name),
  );
  return {
    add: (row) => {
      writer ??= new BinaryCopyWriter();
      write(writer, row);
    },
    send: async (client) => {
      if (writer !== undefined) await copyBinary(client, `${target} (${names.join(', ')})`, writer.finish());
    },
  };
};

interface EncodedCalls {
  readonly stage: EncodedTable;
  readonly children: readonly EncodedTable[];
}

/** Every row of every call, in one pass over the calls: nothing holds more than the rows of one. */
const encodeCalls = (layout: Layout, batch: LoadBatch, calls: readonly CallLoad[]): EncodedCalls => {
  const table = tableOf('calls');
  const withGuard: Table = { ...table, kind: 'child', columns: [...table.columns, ...guardColumns] };
  const stage = encodeTable(layout, 'stage_calls', withGuard);
  const encoded = children(layout).map(
    (child) =>
      [child.name as keyof CallLoad['rows'], encodeTable(layout, qualified(layout, child.name), child)] as const,
  );
  const words =
    layout.words === 'rows'
      ? encodeTable(layout, qualified(layout, wordsView.name), { ...tableOf('utterances'), columns: wordsView.columns })
      : undefined;
  for (const call of calls) {
    const { rows } = call;
    stage.add([...(rows.calls[0] as Row), batch.epoch, call.revision, batch.flattenVersion, batch.loadId]);
    for (const [name, child] of encoded) for (const row of rows[name]) child.add(row);
    if (words !== undefined) for (const row of wordRows(rows.utterances)) words.add(row);
  }
  return { stage, children: [...encoded.map(([, child]) => child), ...(words === undefined ? [] : [words])] };
};

/** Rows of the words table of layout `rows`. */
function* wordRows(utterances: readonly Row[]): Iterable<Row> {
  for (const [callId, at, utterance, side, , , , , , arrays] of utterances) {
    const { value, start, length, score } = arrays as WordArrays;
    for (let index = 0; index < value.length; index += 1) {
      yield [callId, at, utterance, index, side, value[index], start[index], length[index], score[index]];
    }
  }
}

/** The calls that this load may write: those with a lower guard, and no tombstone. */
const claimCalls = async (
  client: pg.PoolClient,
  sql: LoadSql,
  batch: LoadBatch,
  stage: EncodedTable,
): Promise<readonly CallLoad[]> => {
  await client.query(sql.stage);
  await stage.send(client);
  const { rows } = await client.query<{ call_id: string }>(sql.claim(batch.force === true));
  const claimed = new Set(rows.map((row) => row.call_id));
  const mine = batch.calls.filter((call) => claimed.has(call.callId));
  if (mine.length === 0) return [];
  // Asked after the claim, so that a tombstone which committed while the claim waited is seen.
  const keys = new Map(mine.map((call) => [batch.keyOf(call.callId), call.callId]));
  const blocked = await client.query<{ call_key: string }>(sql.blocked, [[...keys.keys()]]);
  if (blocked.rows.length === 0) return mine;
  const erased = new Set(blocked.rows.map((row) => keys.get(row.call_key)));
  await client.query(sql.deleteCalls, [[...erased]]);
  return mine.filter((call) => !erased.has(call.callId));
};

const applyTombstones = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch): Promise<number> => {
  if (batch.tombstones.length === 0) return 0;
  const ids = batch.tombstones.map((tombstone) => tombstone.callId);
  const { rowCount } = await client.query(sql.tombstone, [
    batch.tombstones.map((tombstone) => tombstone.callKey),
    batch.epoch,
    batch.tombstones.map((tombstone) => tombstone.revision),
    batch.loadId,
  ]);
  for (const statement of sql.deleteChildren) await client.query(statement, [ids]);
  await client.query(sql.deleteCalls, [ids]);
  return rowCount ?? 0;
};

/**
 * Takes the keys of all calls of a load with tombstones in one pass in key order: an older load in flight then waits
 * and finds the tombstone, and two such loads cannot wait for each other.
 */
const takeKeys = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch): Promise<void> => {
  if (batch.tombstones.length === 0) return;
  const ids = [...batch.tombstones, ...batch.calls].map((call) => call.callId);
  await client.query(sql.takeKeys, [ids, batch.epoch, batch.loadId]);
};

/** Writes the calls that may be written; returns how many. */
const writeCalls = async (client: pg.PoolClient, layout: Layout, sql: LoadSql, batch: LoadBatch): Promise<number> => {
  if (batch.calls.length === 0) return 0;
  const all = encodeCalls(layout, batch, batch.calls);
  const mine = await claimCalls(client, sql, batch, all.stage);
  if (mine.length === 0) return 0;
  const ids = mine.map((call) => call.callId);
  for (const statement of sql.deleteChildren) await client.query(statement, [ids]);
  const encoded = mine.length === batch.calls.length ? all : encodeCalls(layout, batch, mine);
  for (const child of encoded.children) await child.send(client);
  return mine.length;
};

/** The work of one load inside the caller's transaction. */
export const applyLoad = async (client: pg.PoolClient, layout: Layout, batch: LoadBatch): Promise<LoadResult> => {
  const sql = loadSql(layout);
  await takeKeys(client, sql, batch);
  const written = await writeCalls(client, layout, sql, batch);
  const changed = written + (await applyTombstones(client, sql, batch));
  const loads: Row = [
    batch.loadId,
    batch.epoch,
    batch.flattenVersion,
    batch.origin,
    batch.calls.length + batch.tombstones.length,
    changed,
    Date.now() * 1000,
  ];
  const logs: Record<string, readonly Row[] | undefined> = { ...batch.logs, loads: [loads] };
  for (const [name, rows] of Object.entries(logs)) {
    const statements = sql.upsertLogs[name];
    if (rows === undefined || rows.length === 0 || statements === undefined) continue;
    await client.query(statements.stage);
    const encoded = encodeTable(layout, `stage_${name}`, tableOf(name as 'loads'));
    for (const row of rows) encoded.add(row);
    await encoded.send(client);
    await client.query(statements.upsert);
  }
  return { changed, unchanged: batch.calls.length + batch.tombstones.length - changed };
};
