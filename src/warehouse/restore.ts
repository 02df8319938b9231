/** Questions by which callsync notices that a ledger or a warehouse was set back, in SQL for every warehouse. */
import type { CallTableName } from '../../schemas/tables.ts';
import { readPages } from '../lib/pages.ts';
import { iso } from '../lib/timestamps.ts';

/** A load, and the epoch of the ledger that planned it. */
export type StoredLoad = { readonly loadId: string; readonly epoch: number };

export type RestoreChecks = ReturnType<typeof createRestoreChecks>;

/** Most ids in one query. */
const idsPerQuery = 500;
/** Keys of one query: a warehouse may have one for each expired call. */
const tombstonesAtOnce = 20_000;

/** Conditions of the calls that have rows in a table; undefined where `calls` does not tell. */
const toldBy: Readonly<Record<Exclude<CallTableName, 'documents'>, string | undefined>> = {
  calls: undefined,
  utterances: 'utterance_count > 0',
  tags: 'tag_count > 0',
  metadata: undefined,
  udfs: undefined,
  contacts: 'in_data IS NOT NULL OR out_data IS NOT NULL',
  redactions: undefined,
};

/** Each rejects as `query` does, also where a table is missing. */
export const createRestoreChecks = (query: (sql: string) => Promise<readonly Record<string, unknown>[]>) => ({
  /** The newest loads, at most `most`, and all since an instant in microseconds; newest first. */
  async listLoads(most: number, since?: number): Promise<readonly StoredLoad[]> {
    const newest = `SELECT load_id FROM loads ORDER BY loaded_at DESC LIMIT ${most}`;
    const recent = since === undefined ? '' : ` OR loaded_at >= TIMESTAMP '${iso(since)}'`;
    const sql = `SELECT load_id, ledger_epoch FROM loads WHERE load_id IN (${newest})${recent} ORDER BY loaded_at DESC`;
    return (await query(sql)).map((row) => ({ loadId: row.load_id as string, epoch: Number(row.ledger_epoch) }));
  },
  /** Ids of given loads that the warehouse has. */
  async findLoads(loadIds: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const page of pagesOf(loadIds))
      for (const row of await query(`SELECT load_id FROM loads WHERE load_id IN (${page})`))
        found.add(row.load_id as string);
    return found;
  },
  /** Calls whose rows came with these loads, and their revisions, in parts. */
  async *listCallsOf(loads: readonly StoredLoad[]) {
    // By both columns, as the index of the calls has them.
    const epochs = [...new Set(loads.map(({ epoch }) => epoch))].join(', ');
    for (const page of pagesOf(loads.map(({ loadId }) => loadId))) {
      const sql = `SELECT call_id, revision FROM calls WHERE ledger_epoch IN (${epochs}) AND load_id IN (${page})`;
      yield (await query(sql)).map((row) => ({ callId: row.call_id as string, revision: Number(row.revision) }));
    }
  },
  /** The highest epoch of anything that the warehouse holds; 0 = nothing. */
  async findHighestEpoch(): Promise<number> {
    const each = ['loads', 'calls', 'tombstones'].map((table) => `SELECT max(ledger_epoch) AS epoch FROM ${table}`);
    // The local BigQuery takes a bare UNION for no SELECT.
    const [row] = await query(`SELECT max(epoch) AS epoch FROM (${each.join(' UNION ALL ')}) AS each_table`);
    return Number(row?.epoch ?? 0);
  },
  /** Whether `calls` has no rows, or a table has none of those of which `calls` tells. Without a column BigQuery bills next to nothing. */
  async isEmptied(): Promise<boolean> {
    const exist = ['tombstones', ...Object.keys(toldBy)].map((name) => `EXISTS (SELECT 1 FROM ${name}) AS ${name}`);
    const [found = {}] = await query(`SELECT ${exist.join(', ')}`);
    if (found.calls !== true) return true;
    for (const [table, calls] of Object.entries(toldBy)) {
      if (calls === undefined || found[table] === true) continue;
      if ((await query(`SELECT 1 FROM calls WHERE ${calls} LIMIT 1`)).length > 0) return true;
    }
    return false;
  },
  /** Keyed hashes of erased calls, in parts. */
  async *listTombstones() {
    const pages = readPages<{ readonly call_key?: unknown }>(tombstonesAtOnce, (last) =>
      query(
        `SELECT call_key FROM tombstones WHERE call_key > '${last?.call_key ?? ''}' ORDER BY call_key LIMIT ${tombstonesAtOnce}`,
      ),
    );
    for await (const page of pages) yield page.map((row) => row.call_key as string);
  },
});

/** Ids for SQL. callsync made them, so they have no quotes. */
function* pagesOf(ids: readonly string[]): Generator<string> {
  for (let at = 0; at < ids.length; at += idsPerQuery) yield `'${ids.slice(at, at + idsPerQuery).join("', '")}'`;
}
