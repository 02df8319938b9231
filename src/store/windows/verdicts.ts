/** Verdicts: what was compared and found, each chained to the one before it of the same warehouse. */

import type { SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import type { Shown } from '../../../schemas/shown.ts';
import { type Row, tableOf } from '../../../schemas/tables.ts';
import type { Database, Queryable, Transaction } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { readMeta } from '../meta.ts';
import { type ChainHead, readChainHeads, recordChainHead } from './chain-heads.ts';
import type { ProofKeys } from './proof-keys.ts';

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

/** Where the chain's keys are, and the file outside the store that holds its heads. */
export interface Proof {
  readonly keys: ProofKeys;
  readonly headsFile: string;
}

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

/** Calls of a warehouse: some, or all that it was sent at or after a time in microseconds; 0 = whatever it was sent. */
type SentCalls = { readonly callIds: readonly string[] } | { readonly since: number };

/**
 * Takes back what was proven of the UTC days of calls whose rows the warehouse lacks, or lacks for a while: each good verdict that
 * touches them is followed by one of the same window that is unproven.
 * @param sendAgain has the calls sent again, in the same transaction
 */
export const withdrawProof = async (
  store: Database,
  proof: Proof,
  { warehouse, calls }: { readonly warehouse: string; readonly calls: SentCalls },
  sendAgain: (tx: Transaction) => Promise<unknown>,
): Promise<void> => {
  const head = await store.transaction(async (tx) => {
    await sendAgain(tx);
    return await voidVerdicts(tx, proof.keys, warehouse, calls);
  });
  if (head !== undefined) await recordChainHead(proof.headsFile, head);
};

/** Returns the last of the chain; undefined where nothing was proven. */
const voidVerdicts = async (
  tx: Transaction,
  keys: ProofKeys,
  warehouse: string,
  calls: SentCalls,
): Promise<StoredVerdict | undefined> => {
  await lockChain(tx, warehouse);
  const good = await readVerdicts(
    tx,
    `WHERE verdict_id IN (SELECT max(verdict_id) FROM verdicts WHERE warehouse = $1 GROUP BY axis, window_from, window_to)
       AND outcome IN ('proven', 'healed') AND ledger_epoch = (SELECT max(epoch) FROM epochs)
       AND ($2::float8 = 0 OR EXISTS (
         SELECT FROM (SELECT DISTINCT date_trunc('day', t, 'UTC') AS day
                        FROM ledger l LEFT JOIN warehouse_calls w ON w.call_id = l.call_id AND w.warehouse = $1
                       CROSS JOIN LATERAL (VALUES (l.call_timestamp), (l.processed_at)) times (t)
                       WHERE l.call_id = ANY($3) OR coalesce(w.applied_at, 'infinity') >= ${toTimestamp('$2')}) sent
          WHERE window_from < day + interval '1 day' AND window_to > day))
     ORDER BY verdict_id`,
    [warehouse, 'since' in calls ? calls.since : null, 'since' in calls ? null : calls.callIds],
  );
  let last: StoredVerdict | undefined;
  for (const verdict of good) {
    const nothing = {
      outcome: 'unproven',
      confirmed: 'none',
      calls_found: 0,
      missing: 0,
      different: 0,
      healed: 0,
    } as const;
    last = await insertVerdict(tx, keys, { ...verdict, ...nothing, compared_at: Date.now() * 1000 });
  }
  return last;
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

/** The latest verdict of each window that overlaps a range, per warehouse. */
export const latestVerdicts = (
  db: Queryable,
  range: { readonly from: number; readonly to: number },
): Promise<StoredVerdict[]> =>
  readVerdicts(
    db,
    `WHERE verdict_id IN (SELECT max(verdict_id) FROM verdicts
        WHERE window_to > ${toTimestamp('$1')} AND window_from < ${toTimestamp('$2')}
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
