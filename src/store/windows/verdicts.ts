/** Verdicts: what was compared and found, each chained to the one before it of the same warehouse. */

import { createHash } from 'node:crypto';
import { tableOf } from '../../../schemas/tables.ts';
import type { Database, Queryable } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';

export type VerdictOutcome = 'proven' | 'healed' | 'unproven' | 'suspicious_empty';

/** Times in microseconds since the epoch; names as in the warehouse table `verdicts`. */
export interface Verdict {
  readonly warehouse: string;
  readonly axis: string;
  readonly window_from: number;
  readonly window_to: number;
  readonly level: 'ids' | 'light' | 'full';
  readonly confirmed: 'total' | 'listing' | 'overlap' | 'none';
  readonly calls_listed: number;
  readonly calls_found: number;
  readonly missing: number;
  readonly different: number;
  readonly healed: number;
  readonly gone: number;
  readonly surplus: number;
  readonly outcome: VerdictOutcome;
  readonly compared_at: number;
  readonly ledger_epoch: number;
  readonly flatten_version: number;
  readonly revisions_digest: string;
  readonly compared_by: string;
}

export interface StoredVerdict extends Verdict {
  readonly verdict_id: number;
  readonly digest: string;
  readonly previous_digest: string | null;
}

const columns = tableOf('verdicts').columns.map((column) => column.name) as (keyof StoredVerdict)[];
const timeColumns = new Set(['window_from', 'window_to', 'compared_at']);
const selectList = ['warehouse', ...columns]
  .map((name) => (timeColumns.has(name) ? `${toMicros(name)} AS ${name}` : name))
  .join(', ');

/** SHA-256 (hex) over every column of the warehouse's table but the digest itself, the digest before among them. */
const digestVerdict = (verdict: Omit<StoredVerdict, 'digest'>): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        verdict.warehouse,
        ...columns.filter((name) => name !== 'digest').map((name) => verdict[name as keyof typeof verdict] ?? null),
      ]),
    )
    .digest('hex');

/** The digest that a row of the warehouse table should have. */
export const digestOfRow = (warehouse: string, row: readonly unknown[]): string =>
  digestVerdict({ warehouse, ...Object.fromEntries(columns.map((name, index) => [name, row[index]])) } as never);

/** Row of the warehouse table, in its column order. */
export const verdictRow = (verdict: StoredVerdict): readonly unknown[] => columns.map((name) => verdict[name]);

/** Adds a verdict to the chain of its warehouse. */
export const addVerdict = async (store: Database, verdict: Verdict): Promise<StoredVerdict> =>
  await store.transaction(async (tx) => {
    await tx.query("SELECT pg_advisory_xact_lock(hashtext('callsync.verdicts:' || $1))", [verdict.warehouse]);
    const rows = await tx.query<{ id: number; previous: string | null }>(
      `SELECT nextval(pg_get_serial_sequence('verdicts', 'verdict_id')) AS id,
              (SELECT digest FROM verdicts WHERE warehouse = $1 ORDER BY verdict_id DESC LIMIT 1) AS previous`,
      [verdict.warehouse],
    );
    const linked = { ...verdict, verdict_id: rows[0]?.id as number, previous_digest: rows[0]?.previous ?? null };
    const stored: StoredVerdict = { ...linked, digest: digestVerdict(linked) };
    const names = ['warehouse', ...columns] as (keyof StoredVerdict)[];
    await tx.query(
      `INSERT INTO verdicts (${names.join(', ')}) VALUES (${names
        .map((name, index) => (timeColumns.has(name) ? toTimestamp(`$${index + 1}`) : `$${index + 1}`))
        .join(', ')})`,
      names.map((name) => stored[name]),
    );
    return stored;
  });

const readVerdicts = async (db: Queryable, rest: string, values: unknown[]): Promise<StoredVerdict[]> =>
  await db.query<StoredVerdict>(`SELECT ${selectList} FROM verdicts ${rest}`, values);

/** Verdicts that a warehouse's own table does not have yet. */
export const unloadedVerdicts = (db: Queryable, warehouse: string, limit: number): Promise<StoredVerdict[]> =>
  readVerdicts(db, 'WHERE warehouse = $1 AND NOT loaded ORDER BY verdict_id LIMIT $2', [warehouse, limit]);

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
  /** Ids of verdicts that were changed, or whose predecessor was removed or changed. */
  readonly broken: readonly number[];
  /** Digest of the last verdict; null when there is none. */
  readonly head: string | null;
}

/** Recomputes the digests of a chain, oldest first. */
const checkChain = async (
  warehouse: string,
  verdicts: AsyncIterable<StoredVerdict> | Iterable<StoredVerdict>,
): Promise<ChainCheck> => {
  const broken: number[] = [];
  let count = 0;
  let head: string | null = null;
  for await (const verdict of verdicts) {
    count += 1;
    if (verdict.previous_digest !== head || digestVerdict(verdict) !== verdict.digest) broken.push(verdict.verdict_id);
    head = verdict.digest;
  }
  return { warehouse, verdicts: count, broken, head };
};

const page = 2_000;

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

/** Verifies the chain of every warehouse that has verdicts. */
export const verifyVerdictChain = async (db: Queryable): Promise<ChainCheck[]> => {
  const rows = await db.query<{ warehouse: string }>('SELECT DISTINCT warehouse FROM verdicts ORDER BY warehouse');
  return await Promise.all(rows.map(({ warehouse }) => checkChain(warehouse, allVerdicts(db, warehouse))));
};
