/** One load = one transaction: claim the calls whose guard is lower, then replace the children of only those. */
import type pg from 'pg';
import type { Column, ColumnType, Row, Table, TableName, WordArrays } from '../../../schemas/tables.ts';
import { erasedPrefix, guardColumns, tableOf, tables } from '../../../schemas/tables.ts';
import { BinaryCopyWriter } from '../../postgres/binary-copy.ts';
import { contentHash } from '../digest.ts';
import type { CallLoad, FlatRows, LoadBatch, LoadResult } from '../warehouse.ts';
import { childTables, columnsOf, type Layout, qualified, quote } from './layout.ts';
import { type LoadSql, loadSql } from './load-sql.ts';

/**
 * Computes the common parts of all loads of a table once; each call of the result begins an empty one. `target` is
 * the relation of COPY. The first row allocates memory.
 */
const prepareTable = (target: string, table: Table) => {
  const write = rowWriter(table.columns);
  const names = columnsOf(table).map((column) => quote(column.name));
  const copyTarget = `${target} (${names.join(', ')})`;
  return () => {
    let writer: BinaryCopyWriter | undefined;
    return {
      add: (row: Row) => {
        writer ??= new BinaryCopyWriter();
        write(writer, row);
      },
      /** Sends the added rows, if any, in one COPY. */
      send: async (client: pg.PoolClient) => await writer?.send(client, copyTarget),
    };
  };
};

type Write = (writer: BinaryCopyWriter, value: never) => void;

const writers: Readonly<Record<Exclude<ColumnType, 'words'>, Write>> = {
  text: (writer, value: string) => writer.text(value),
  timestamp: (writer, value: number) => writer.timestamptz(value),
  float: (writer, value: number) => writer.float8(value),
  int: (writer, value: number) => writer.int4(value),
  bool: (writer, value: boolean) => writer.bool(value),
  json: (writer, value: string) => writer.jsonb(value),
  decimal: (writer, value: string) => writer.numeric(value),
};

/** @param content where it has the same words between blanks, null stands for them: they were a seventh of a database */
const writeWords = (writer: BinaryCopyWriter, words: WordArrays, content?: unknown): void => {
  if (typeof content === 'string' && isSplit(content, words.value)) writer.null();
  else writer.textArray(words.value);
  writer.float8Array(words.start);
  writer.float8Array(words.length);
  writer.float8Array(words.score);
};

/** The hash of the bytes that COPY sends, as digests computed by the server have it. */
export const wordsText = (words: WordArrays): string => {
  const writer = new BinaryCopyWriter();
  writeWords(writer, words);
  return writer.hash();
};

/** Whether `string_to_array(content, ' ')` has these words; of an empty text, it has none. */
const isSplit = (content: string, words: WordArrays['value']): boolean => {
  let at = 0;
  for (const word of words) {
    const blank = content.indexOf(' ', at);
    const end = blank === -1 ? content.length : blank;
    if (word?.length !== end - at || !content.startsWith(word, at)) return false;
    at = end + 1;
  }
  return at === content.length + 1 && content !== '';
};

/** A function that writes one logical row as one COPY row. */
const rowWriter = (columns: readonly Column[]) => {
  const count = columns.reduce((sum, column) => sum + (column.type === 'words' ? 4 : 1), 0);
  const steps = columns.map(({ name, type }) => [name, type === 'words' ? null : writers[type]] as const);
  return (writer: BinaryCopyWriter, row: Row): void => {
    writer.row(count);
    for (const [name, step] of steps) {
      const value = row[name];
      if (step === null) writeWords(writer, value as WordArrays, row.content);
      else if (value === null || value === undefined) writer.null();
      else step(writer, value as never);
    }
  };
};

/** Common parts of every load of a layout. */
const prepare = (layout: Layout) => {
  const calls = tableOf('calls');
  const withGuard: Table = { ...calls, kind: 'child', columns: [...calls.columns, ...guardColumns] };
  return {
    sql: loadSql(layout),
    stage: prepareTable('stage_calls', withGuard),
    children: childTables(layout).map((child) => ({
      name: child.name as keyof FlatRows,
      begin: prepareTable(qualified(layout, child.name), child),
    })),
  };
};

type Prepared = ReturnType<typeof prepare>;
type Stage = ReturnType<Prepared['stage']>;

/** Every row of every call, in one pass over the calls: nothing holds more than the rows of one. */
const encodeCalls = (prepared: Prepared, batch: LoadBatch, calls: readonly CallLoad[]) => {
  const stage = prepared.stage();
  const encoded = prepared.children.map(({ name, begin }) => [name, begin()] as const);
  for (const call of calls) {
    const rows = call.flatten();
    stage.add({
      ...rows.calls[0],
      ledger_epoch: batch.epoch,
      revision: call.revision,
      flatten_version: batch.flattenVersion,
      load_id: batch.loadId,
      content_hash: contentHash(rows),
    });
    for (const [name, child] of encoded) for (const row of rows[name]) child.add(row);
  }
  return { stage, children: encoded.map(([, child]) => child) };
};

/** The calls that this load may write: those with a lower guard, and no tombstone. */
const claimCalls = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch, stage: Stage) => {
  await client.query(sql.stage);
  await stage.send(client);
  const { rows } = await client.query<{ call_id: string }>(batch.force === true ? sql.claimEqual : sql.claim);
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
  await client.query(sql.deleteChildren, [ids]);
  await client.query(sql.deleteCalls, [ids]);
  await client.query(sql.deleteChanges, [ids]);
  await client.query(sql.renameDeliveries, [ids, batch.tombstones.map(({ callKey }) => erasedPrefix + callKey)]);
  return rowCount ?? 0;
};

/**
 * Locks the keys of all calls of a load with tombstones in key order. An older load then waits and finds the
 * tombstone, and two such loads cannot deadlock.
 */
const takeKeys = async (client: pg.PoolClient, sql: LoadSql, batch: LoadBatch): Promise<void> => {
  if (batch.tombstones.length === 0) return;
  const ids = [...batch.tombstones, ...batch.calls].map((call) => call.callId);
  await client.query(sql.takeKeys, [ids, batch.epoch, batch.loadId]);
};

/** Writes the calls that may be written; returns how many. */
const writeCalls = async (client: pg.PoolClient, prepared: Prepared, batch: LoadBatch): Promise<number> => {
  if (batch.calls.length === 0) return 0;
  const { sql } = prepared;
  const all = encodeCalls(prepared, batch, batch.calls);
  const mine = await claimCalls(client, sql, batch, all.stage);
  if (mine.length === 0) return 0;
  const ids = mine.map((call) => call.callId);
  await client.query(sql.useIndexes);
  await client.query(sql.deleteChildren, [ids]);
  const encoded = mine.length === batch.calls.length ? all : encodeCalls(prepared, batch, mine);
  for (const child of encoded.children) await child.send(client);
  const changes = mine.flatMap((call) => call.changes);
  await insertRows(client, sql.addChanges, 'changes', changes);
  return mine.length;
};

/** A statement and no COPY: rows that are there already stay or change, and in most loads they are few. */
const insertRows = async (client: pg.PoolClient, sql: string, table: TableName, rows: readonly Row[]) => {
  if (rows.length === 0) return;
  const columns = tables.find(({ name }) => name === table)?.columns ?? [];
  await client.query(
    sql,
    columns.map(({ name }) => rows.map((row) => row[name])),
  );
};

/** Makes loads of one layout, each inside the caller's transaction; statements and columns are worked out once. */
export const createLoader = (layout: Layout) => {
  const prepared = prepare(layout);
  const { sql } = prepared;
  return async (client: pg.PoolClient, batch: LoadBatch): Promise<LoadResult> => {
    await takeKeys(client, sql, batch);
    const written = await writeCalls(client, prepared, batch);
    const changed = written + (await applyTombstones(client, sql, batch));
    const sent = batch.calls.length + batch.tombstones.length;
    const load: Row = {
      load_id: batch.loadId,
      ledger_epoch: batch.epoch,
      flatten_version: batch.flattenVersion,
      origin: batch.origin,
      calls_sent: sent,
      calls_changed: changed,
      loaded_at: Date.now() * 1000,
    };
    const logs = { ...batch.logs, loads: [load] };
    for (const name of Object.keys(logs) as (keyof typeof logs)[])
      await insertRows(client, sql.upsertLogs[name] as string, name, logs[name] ?? []);
    return { changed, unchanged: sent - changed };
  };
};
