/** Verdicts: what was compared and found, each chained to the one before it of the same warehouse. */

import type { SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import type { Shown } from '../../../schemas/shown.ts';
import { type Row, tableOf } from '../../../schemas/tables.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { repeatTransaction } from '../../postgres/repeat-transaction.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { readMeta } from '../meta.ts';
import type { Proof, ProofKeys, Store } from '../store.ts';
import { type ChainHead, readChainHeads, recordChainHead } from './chain-heads.ts';

export type VerdictOutcome = 'proven' | 'healed' | 'unproven' | 'suspicious_empty';

/** Times in microseconds since the epoch; names as in the warehouse table `verdicts`. */
export interface Verdict {
  readonly warehouse: string;
  readonly axis: string;
  readonly window_from: number;
  readonly window_to: number;
  /** What was compared with the service. */
  readonly level: SourceLevel;
  /** What was compared in the warehouse. */
  readonly warehouse_level: WarehouseLevel;
  readonly confirmed: Shown;
  readonly calls_listed: number;
  readonly calls_found: number;
  readonly missing: number;
  readonly different: number;
  readonly healed: number;
  readonly gone: number;
  readonly surplus: number;
  /** Absent in verdicts of earlier versions. */
  readonly kept_out?: number | null;
  readonly outcome: VerdictOutcome;
  readonly compared_at: number;
  readonly ledger_epoch: number;
  readonly flatten_version: number;
  readonly revisions_digest: string;
  readonly compared_by: string;
}

export interface StoredVerdict extends Verdict {
  readonly verdict_id: number;
  readonly key_id: string;
  readonly digest: string;
  readonly previous_digest: string | null;
}

const columns = tableOf('verdicts').columns.map((column) => column.name) as (keyof StoredVerdict)[];
const timeColumns = new Set(['window_from', 'window_to', 'compared_at']);
const selectList = ['warehouse', ...columns]
  .map((name) => (timeColumns.has(name) ? `${toMicros(name)} AS ${name}` : name))
  .join(', ');

/** A column that verdicts of earlier versions lack: their digests say nothing of it. */
const isCovered = (name: string, value: unknown): boolean => name !== 'kept_out' || (value ?? null) !== null;

/**
 * HMAC-SHA-256 (hex) over every column of the warehouse's table but the digest itself, the digest before among them;
 * undefined where the key is not configured.
 */
const digestVerdict = (keys: ProofKeys, verdict: Omit<StoredVerdict, 'digest'>): string | undefined => {
  const values = columns
    .filter((name) => name !== 'digest' && isCovered(name, verdict[name as keyof typeof verdict]))
    .map((name) => verdict[name as keyof typeof verdict] ?? null);
  return keys.sign(verdict.key_id ?? '', JSON.stringify([verdict.warehouse, ...values]));
};

/** The digest that a row of the warehouse table should have; undefined where its key is not configured. */
export const digestOfRow = (keys: ProofKeys, warehouse: string, row: Row): string | undefined =>
  digestVerdict(keys, { warehouse, ...row } as never);

/**
 * Adds a verdict to the chain of its warehouse, and its digest to the heads outside the store. If calls were sent to the warehouse
 * again since `comparedSince` (microseconds of the store's clock), the comparison may be older than the loss of rows: nothing is proven.
 */
export const addVerdict = async (
  store: Database,
  proof: Proof,
  verdict: Verdict,
  comparedSince?: number,
): Promise<StoredVerdict> => {
  const stored = await store.transaction(async (tx) => {
    await lockChain(tx, verdict.warehouse);
    const [again] = await tx.query(
      `SELECT 1 FROM warehouses WHERE name = $1 AND walk_requested_at >= ${toTimestamp('$2')}`,
      [verdict.warehouse, comparedSince ?? null],
    );
    return await insertVerdict(
      tx,
      proof.keys,
      again !== undefined && isGood(verdict) ? { ...verdict, outcome: 'unproven' } : verdict,
    );
  });
  await recordChainHead(proof.headsFile, stored);
  return stored;
};

/** Some calls, or all that a warehouse was sent at or after a time in microseconds; 0 = whatever it was sent. */
export type SentCalls = readonly string[] | { readonly since: number };

/**
 * Takes back what was proven of the UTC days of calls, in one warehouse or in all: each good verdict that touches them is followed by
 * one of the same window that is unproven. Before calls become tombstones, which have no day.
 */
type Withdraw = (calls: SentCalls, warehouse?: string) => Promise<void>;

/**
 * Carries out work that sends calls to warehouses again, takes something of them or erases them, and withdraws in the same transaction
 * what was proven of their days. The work repeats itself where PostgreSQL ends it for the sake of others.
 */
export const withdrawProof = async <T>(
  store: Store,
  work: (tx: Transaction, withdraw: Withdraw) => Promise<T>,
): Promise<T> => {
  let heads: StoredVerdict[] = [];
  const done = await repeatTransaction(store, (tx) => {
    heads = [];
    return work(tx, async (calls, warehouse) => {
      if (Array.isArray(calls) && calls.length === 0) return;
      for (const verdict of await readTouched(tx, calls, warehouse))
        heads.push(
          await insertVerdict(tx, store.erasures.proof.keys, {
            ...verdict,
            ...nothing(),
            compared_at: Date.now() * 1000,
          }),
        );
    });
  });
  for (const head of heads) await recordChainHead(store.erasures.proof.headsFile, head);
  return done;
};

const nothing = () =>
  ({ outcome: 'unproven', confirmed: 'none', calls_found: 0, missing: 0, different: 0, healed: 0 }) as const;

/** The times of some calls: each sort by the index that it has, whatever the number of calls. */
const timesOf = {
  some: 'SELECT call_timestamp, processed_at FROM ledger WHERE call_id = ANY($1)',
  sent: `SELECT call_timestamp, processed_at FROM ledger l LEFT JOIN warehouse_calls w ON w.call_id = l.call_id AND w.warehouse = $2
          WHERE coalesce(w.applied_at, 'infinity') >= ${toTimestamp('$1')}`,
} as const;

/** The good verdicts of the present ledger on the days of calls; their chains are locked. */
const readTouched = async (tx: Transaction, calls: SentCalls, warehouse?: string): Promise<StoredVerdict[]> => {
  await tx.query(
    `SELECT pg_advisory_xact_lock(hashtext('callsync.verdicts:' || warehouse))
       FROM (SELECT DISTINCT warehouse FROM verdicts WHERE $1::text IS NULL OR warehouse = $1 ORDER BY 1) AS chains`,
    [warehouse ?? null],
  );
  const good = `WHERE verdict_id IN (SELECT max(verdict_id) FROM verdicts
        WHERE $2::text IS NULL OR warehouse = $2 GROUP BY warehouse, axis, window_from, window_to)
     AND outcome IN ('proven', 'healed') AND ledger_epoch = (SELECT max(epoch) FROM epochs)`;
  if ('since' in calls && calls.since === 0)
    return await readVerdicts(tx, `${good} AND $1::int = 0 ORDER BY verdict_id`, [0, warehouse ?? null]);
  return await readVerdicts(
    tx,
    `${good} AND EXISTS (
         SELECT FROM (SELECT DISTINCT date_trunc('day', t, 'UTC') AS day
                        FROM (${'since' in calls ? timesOf.sent : timesOf.some}) AS c
                       CROSS JOIN LATERAL (VALUES (call_timestamp), (processed_at)) times (t)) AS sent
          WHERE window_from < day + interval '1 day' AND window_to > day)
     ORDER BY verdict_id`,
    ['since' in calls ? calls.since : calls, warehouse ?? null],
  );
};

const isGood = ({ outcome }: Pick<Verdict, 'outcome'>): boolean => outcome === 'proven' || outcome === 'healed';

const lockChain = (tx: Transaction, warehouse: string): Promise<unknown> =>
  tx.query("SELECT pg_advisory_xact_lock(hashtext('callsync.verdicts:' || $1))", [warehouse]);

const insertVerdict = async (tx: Transaction, keys: ProofKeys, verdict: Verdict): Promise<StoredVerdict> => {
  const rows = await tx.query<{ id: number; previous: string | null }>(
    `SELECT nextval(pg_get_serial_sequence('verdicts', 'verdict_id')) AS id,
            (SELECT digest FROM verdicts WHERE warehouse = $1 ORDER BY verdict_id DESC LIMIT 1) AS previous`,
    [verdict.warehouse],
  );
  const linked = {
    ...verdict,
    verdict_id: rows[0]?.id as number,
    key_id: keys.currentId,
    previous_digest: rows[0]?.previous ?? null,
  };
  const stored: StoredVerdict = { ...linked, digest: digestVerdict(keys, linked) as string };
  const names = ['warehouse', ...columns] as (keyof StoredVerdict)[];
  await tx.query(
    `INSERT INTO verdicts (${names.join(', ')}) VALUES (${names
      .map((name, index) => (timeColumns.has(name) ? toTimestamp(`$${index + 1}`) : `$${index + 1}`))
      .join(', ')})`,
    names.map((name) => stored[name] ?? null),
  );
  return stored;
};

const readVerdicts = async (db: Queryable, rest: string, values: unknown[]): Promise<StoredVerdict[]> =>
  await db.query<StoredVerdict>(`SELECT ${selectList} FROM verdicts ${rest}`, values);

/** Verdicts that a warehouse's own table does not have yet, the newest first: they take back what older ones proved. */
export const unloadedVerdicts = (db: Queryable, warehouse: string, limit: number): Promise<StoredVerdict[]> =>
  readVerdicts(db, 'WHERE warehouse = $1 AND NOT loaded ORDER BY verdict_id DESC LIMIT $2', [warehouse, limit]);

/** Takes verdicts off the queue of their warehouse, which has their rows now. */
export const markVerdictsLoaded = async (db: Queryable, ids: readonly number[]): Promise<void> => {
  if (ids.length === 0) return;
  await db.query('UPDATE verdicts SET loaded = true WHERE verdict_id = ANY($1)', [ids]);
};

/** The latest verdict of each window that overlaps a range, per warehouse; of the present ledger: one that was restored proves nothing. */
export const latestVerdicts = (
  db: Queryable,
  range: { readonly from: number; readonly to: number },
): Promise<StoredVerdict[]> =>
  readVerdicts(
    db,
    `WHERE verdict_id IN (SELECT max(verdict_id) FROM verdicts
        WHERE window_to > ${toTimestamp('$1')} AND window_from < ${toTimestamp('$2')}
          AND ledger_epoch = (SELECT max(epoch) FROM epochs)
        GROUP BY warehouse, axis, window_from, window_to) ORDER BY verdict_id`,
    [range.from, range.to],
  );

/** What the listings of the same hours of the four weeks before had. */
export const listedInEarlierWeeks = async (
  db: Queryable,
  window: { readonly axis: string; readonly from: number; readonly to: number },
): Promise<number[]> => {
  const week = 7 * 86_400_000_000;
  const rows = await db.query<{ listed: number }>(
    `SELECT max(calls_listed) AS listed FROM verdicts
      WHERE axis = $1 AND window_to - window_from = $3 * interval '1 microsecond'
        AND window_from = ANY(SELECT ${toTimestamp('t')} FROM unnest($2::float8[]) AS t)
      GROUP BY window_from`,
    [window.axis, [1, 2, 3, 4].map((weeks) => window.from - weeks * week), window.to - window.from],
  );
  return rows.map((row) => row.listed);
};

export interface ChainCheck {
  readonly warehouse: string;
  readonly verdicts: number;
  /** Ids of verdicts that were changed, whose key is not configured, or whose predecessor was removed or changed. */
  readonly broken: readonly number[];
  /** Heads that were recorded outside the store and that the chain does not have: its tail was cut off or restored. */
  readonly cut: readonly ChainHead[];
  /** Digest of the last verdict; null when there is none. */
  readonly head: string | null;
}

interface ChainEntry {
  readonly id: number;
  readonly previous: string | null;
  readonly digest: string;
  /** As recomputed; undefined where its key is not configured. */
  readonly expected: string | undefined;
}

/** Compares the digests of a chain with what they should be, oldest first. */
export const checkChain = async (
  heads: readonly ChainHead[],
  name: string,
  entries: AsyncIterable<ChainEntry> | Iterable<ChainEntry>,
  /** Digest of the last entry that has expired. */
  expired: string | null,
): Promise<ChainCheck> => {
  const broken: number[] = [];
  let count = 0;
  let head = expired;
  const unseen = new Map(heads.filter((one) => one.warehouse === name).map((one) => [one.digest, one]));
  for await (const { id, previous, digest, expected } of entries) {
    count += 1;
    if (previous !== head || expected !== digest) broken.push(id);
    head = digest;
    unseen.delete(digest);
  }
  return { warehouse: name, verdicts: count, broken, cut: [...unseen.values()], head };
};

const page = 2_000;

/** Every verdict on a warehouse, oldest first, read in pages. */
export async function* allVerdicts(db: Queryable, warehouse: string): AsyncGenerator<StoredVerdict> {
  let after = 0;
  for (;;) {
    const verdicts = await readVerdicts(db, 'WHERE warehouse = $1 AND verdict_id > $2 ORDER BY verdict_id LIMIT $3', [
      warehouse,
      after,
      page,
    ]);
    yield* verdicts;
    after = verdicts.at(-1)?.verdict_id ?? after;
    if (verdicts.length < page) return;
  }
}

async function* verdictEntries(db: Queryable, keys: ProofKeys, warehouse: string): AsyncGenerator<ChainEntry> {
  for await (const verdict of allVerdicts(db, warehouse)) {
    const { verdict_id: id, previous_digest: previous, digest } = verdict;
    yield { id, previous, digest, expected: digestVerdict(keys, verdict) };
  }
}

/** Verifies the chain of every warehouse that has, or by its recorded head had, verdicts. */
export const verifyVerdictChain = async (db: Queryable, proof: Proof): Promise<ChainCheck[]> => {
  const rows = await db.query<{ warehouse: string }>('SELECT DISTINCT warehouse FROM verdicts');
  const heads = await readChainHeads(proof.headsFile);
  const warehouses = new Set([...rows, ...heads].map(({ warehouse }) => warehouse));
  return await Promise.all(
    [...warehouses].sort().map(async (name) => {
      const expired = await readMeta<string>(db, `verdicts_after:${name}`);
      return await checkChain(heads, name, verdictEntries(db, proof.keys, name), expired ?? null);
    }),
  );
};
