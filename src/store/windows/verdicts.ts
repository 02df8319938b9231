/**
 * Verdicts: results of comparisons, each chained to the previous one of its warehouse, and the ranges that they
 * prove.
 */
import type { Shown } from '../../../schemas/observation.ts';
import type { Range, SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { tableOf } from '../../../schemas/tables.ts';
import { intersect, subtract, unite } from '../../lib/intervals.ts';
import { readPages } from '../../lib/pages.ts';
import { dayMicros } from '../../lib/timestamps.ts';
import type { Finds, Queryable, Sql, Transaction } from '../../postgres/database.ts';
import { list, raw, repeatTransaction, sql, toMicros, toTimestamp } from '../../postgres/database.ts';
import { readMeta, writeMeta } from '../meta.ts';
import type { Store } from '../store.ts';
import {
  type ChainCheck,
  type ChainEntry,
  checkChain,
  lockChain,
  type ProofKeys,
  readChainHeads,
  recordChainHead,
} from './chain.ts';
import { firstReadInstant } from './windows.ts';

type VerdictCount = 'missing' | 'different' | 'healed' | 'deleted' | 'unexpected' | 'excluded';
type VerdictNumber = VerdictCount | 'calls_listed' | 'calls_found' | 'compared_at' | 'ledger_epoch' | 'flatten_version';

/** Times in microseconds since the epoch; names as in the warehouse table `verdicts`. */
interface Verdict extends Outcome, Readonly<Record<VerdictNumber, number>> {
  readonly confirmed: Shown;
  readonly revisions_digest: string;
  readonly compared_by: string;
}

/** Why a window is not proven; stored beside the signed verdict, and never sent to a warehouse. */
export interface VerdictReasons {
  /** Each as `kind: sentence`, without personal data. */
  readonly reasons: readonly string[];
  /** The first calls that still differ. */
  readonly unhealed: readonly string[];
}

export interface StoredVerdict extends Verdict {
  readonly verdict_id: number;
  readonly key_id: string;
  readonly digest: string;
  readonly previous_digest: string | null;
}

const columns = tableOf('verdicts').columns.map((column) => column.name) as (keyof StoredVerdict)[];
const timeColumns = new Set(['window_from', 'window_to', 'compared_at']);
const names = ['warehouse', ...columns] as const;
const selected = raw(names.map((name) => (timeColumns.has(name) ? `${toMicros(name)} AS ${name}` : name)).join(', '));

/**
 * HMAC-SHA-256 (hex) over every column of the warehouse's table except the digest itself, including the previous digest. Undefined if the key is not configured.
 */
export const digestVerdict = (keys: ProofKeys, verdict: Partial<Record<keyof StoredVerdict, unknown>>) => {
  const values = columns.filter((name) => name !== 'digest').map((name) => verdict[name] ?? null);
  return keys.sign(verdict.key_id as string, JSON.stringify([verdict.warehouse, ...values]));
};

/**
 * How often proof of a warehouse's days was withdrawn, and when it was last to be sent all calls. `days` has the latest
 * withdrawals, oldest first.
 */
type Withdrawals = { readonly count: number; readonly walk: string | null; readonly days: readonly Range[] };

const withdrawnKey = (warehouse: string): string => `withdrawn:${warehouse}`;
const mostWithdrawn = 100;

/** Read this before a comparison, and give it to `addVerdict` afterwards. */
export const readWithdrawals = async (db: Queryable, warehouse: string): Promise<Withdrawals> => {
  const noted = await readMeta<Omit<Withdrawals, 'walk'>>(db, withdrawnKey(warehouse));
  const walk = await db.value<string | undefined>`
      SELECT walk_requested_at::text FROM warehouses WHERE name = ${warehouse}`;
  return { count: 0, days: [], ...noted, walk: walk ?? null };
};

/** Whether anything of a window was erased or taken since, or calls were sent again: its comparison may be older than that. */
const isVoid = (window: Range, before: Withdrawals, now: Withdrawals): boolean => {
  const since = now.count - before.count;
  if (now.walk !== before.walk || since < 0 || since > now.days.length) return true;
  return intersect([window], now.days.slice(now.days.length - since)).length > 0;
};

/** `compared_by` of a withdrawal. */
export const comparedByNone = 'none';

/** No comparison followed the latest change of the window. */
export const isWithdrawn = ({ compared_by }: Pick<Verdict, 'compared_by'>): boolean => compared_by === comparedByNone;

const withdrawal = {
  compared_by: comparedByNone,
  outcome: 'unproven' as const,
  confirmed: 'none' as const,
  calls_found: 0,
  missing: 0,
  different: 0,
  healed: 0,
} as const;

/**
 * Adds a verdict to the chain of its warehouse, and its digest to the heads outside the store.
 * @param before read before the comparison: if proof of its days was withdrawn since, the verdict proves nothing.
 */
export const addVerdict = async (store: Store, verdict: Verdict, before?: Withdrawals, why?: VerdictReasons) => {
  const { keys, headsFile } = store.erasures.proof;
  const stored = await store.transaction(async (tx) => {
    await lockChain(tx, verdict.warehouse);
    const isOld =
      before !== undefined && isVoid(windowOf(verdict), before, await readWithdrawals(tx, verdict.warehouse));
    const named = why?.unhealed ?? [];
    const erased = await tx.column`SELECT call_id FROM ledger WHERE call_id = ANY(${named}) AND tombstone`;
    const said = why && { ...why, unhealed: named.filter((id) => !erased.includes(id)) };
    const compared = await insertVerdict(tx, keys, verdict, said);
    // The counts of the comparison stay, for healed calls are healed.
    return isOld && isGood(verdict) ? await insertVerdict(tx, keys, { ...verdict, ...withdrawal }, said) : compared;
  });
  await recordChainHead(store, headsFile, stored);
  return stored;
};

/** Some calls, or all that were sent to a warehouse since a time in microseconds; 0 = all ever. */
type SentCalls = readonly string[] | { readonly since: number };

/**
 * Withdraws the proof of the UTC days of calls, in one warehouse or in all: an unproven verdict follows each good
 * one.
 * Call it before calls become tombstones, which have no day. Call it before queue rows are locked: chains are locked
 * first.
 */
export type Withdraw = (calls: SentCalls, warehouse?: string) => Promise<void>;

type Withdrawing<T> = (tx: Transaction, withdraw: Withdraw) => Promise<T>;

/**
 * Runs work that sends calls again, cuts or erases them, and withdraws the proof of their days in the same
 * transaction. Repeats the work after a deadlock.
 */
export const withdrawProof = async <T>(store: Store, work: Withdrawing<T>, finds?: Finds) => {
  let heads: StoredVerdict[] = [];
  const withdrawing = (tx: Transaction) => {
    heads = [];
    return work(tx, async (calls, warehouse) => {
      const days = await listDays(tx, calls, warehouse);
      const chains = await tx.query<{ name: string }>`
          SELECT name FROM (SELECT warehouse FROM verdicts UNION SELECT name FROM warehouses
                            UNION SELECT substr(key, 15) FROM meta WHERE starts_with(key, 'proven-signed:')) c (name)
          WHERE ${warehouse ?? null}::text IS NULL OR name = ${warehouse ?? null} ORDER BY 1`;
      // Rows that are made right are no loss: the comparison that found them goes on.
      const isHealed = warehouse !== undefined && !('since' in calls);
      for (const { name } of chains) {
        heads.push(...(await voidDays(tx, store, name, days)));
        if (!isHealed) await noteWithdrawn(tx, name, days);
      }
      // Calls that are erased now may be named there.
      if (!('since' in calls))
        await tx.query`UPDATE verdicts SET unhealed_calls = NULL
            WHERE warehouse = ANY(${chains.map(({ name }) => name)}) AND unhealed_calls && ${calls}::text[]`;
    });
  };
  const done = await repeatTransaction(store, withdrawing, finds);
  for (const head of heads) await recordChainHead(store, store.erasures.proof.headsFile, head);
  return done;
};

/** The UTC days of calls, on both axes; each kind of time uses its index. */
const listDays = async (tx: Transaction, calls: SentCalls, warehouse?: string): Promise<readonly Range[]> => {
  if ('since' in calls && calls.since === 0) return [{ from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER }];
  // The statement reads the whole ledger, which takes 15 s at 5 million calls, and nothing is loaded before its end.
  if ('since' in calls) await tx.query`SET LOCAL statement_timeout = '1h'`;
  const meant =
    'since' in calls
      ? sql`l LEFT JOIN warehouse_calls w ON w.call_id = l.call_id AND w.warehouse = ${warehouse}
             WHERE coalesce(w.applied_at, 'infinity') >= ${toTimestamp(calls.since)}`
      : sql`WHERE call_id = ANY(${calls})`;
  return await tx.query<Range>`SELECT ${toMicros('day')} AS from, ${toMicros("day + interval '1 day'")} AS to
       FROM (SELECT DISTINCT date_trunc('day', t, 'UTC') AS day FROM (SELECT call_timestamp, processed_at FROM ledger ${meant}) AS c
              CROSS JOIN LATERAL (VALUES (call_timestamp), (processed_at)) times (t) WHERE t IS NOT NULL) AS days`;
};

/** For comparisons that are under way. */
const noteWithdrawn = async (tx: Transaction, warehouse: string, days: readonly Range[]): Promise<void> => {
  const { count, days: before } = await readWithdrawals(tx, warehouse);
  const latest = [...before, ...days].slice(-mostWithdrawn);
  await writeMeta(tx, withdrawnKey(warehouse), { count: count + days.length, days: latest });
};

/** Returns withdrawals for the good verdicts of the present ledger on these days. */
const voidDays = async (tx: Transaction, store: Store, warehouse: string, days: readonly Range[]) => {
  await lockChain(tx, warehouse);
  const added: StoredVerdict[] = [];
  for (const verdict of await latestOf(tx, sql`warehouse = ${warehouse}`)) {
    if (!isGood(verdict) || intersect([windowOf(verdict)], days).length === 0) continue;
    const compared_at = Date.now() * 1000;
    added.push(await insertVerdict(tx, store.erasures.proof.keys, { ...verdict, ...withdrawal, compared_at }));
  }
  await foldProven(tx, store, warehouse, days);
  return added;
};

const insertVerdict = async (tx: Transaction, keys: ProofKeys, verdict: Verdict, why?: VerdictReasons) => {
  const { id, previous } = await tx.row<{ id: number; previous: string | null }>`
      SELECT nextval(pg_get_serial_sequence('verdicts', 'verdict_id')) AS id,
            (SELECT digest FROM verdicts WHERE warehouse = ${verdict.warehouse} ORDER BY verdict_id DESC LIMIT 1) AS previous`;
  const linked = { ...verdict, verdict_id: id, key_id: keys.currentId, previous_digest: previous };
  const stored: StoredVerdict = { ...linked, digest: digestVerdict(keys, linked) as string };
  const values = names.map((name) =>
    timeColumns.has(name) ? toTimestamp(stored[name] as number) : sql`${stored[name]}`,
  );
  await tx.query`INSERT INTO verdicts (${raw(names.join(', '))}, reasons, unhealed_calls)
      VALUES (${list(values)}, ${why?.reasons}, ${why?.unhealed})`;
  return stored;
};

/** As a template: the statement behind FROM. */
const readVerdicts =
  <V = StoredVerdict>(db: Queryable, also = sql``) =>
  (...rest: Parameters<typeof sql>) =>
    db.query<V & object>`SELECT ${selected} ${also} FROM verdicts ${sql(...rest)}`;

/** Verdicts that the warehouse's own table does not have yet, newest first, because they can withdraw older ones. */
export const unloadedVerdicts = (db: Queryable, warehouse: string, limit: number): Promise<StoredVerdict[]> =>
  readVerdicts(db)`WHERE warehouse = ${warehouse} AND NOT loaded ORDER BY verdict_id DESC LIMIT ${limit}`;

/** Takes verdicts off the queue of their warehouse, which has their rows now. */
export const markVerdictsLoaded = async (db: Queryable, ids: readonly number[]): Promise<void> => {
  if (ids.length === 0) return;
  await db.query`UPDATE verdicts SET loaded = true WHERE verdict_id = ANY(${ids})`;
};

/** Most calls that may wait for a warehouse whose days are compared again: otherwise the comparison would load a backlog. */
export const mostWaiting = 5_000;

/** Window of a verdict. */
export const windowOf = ({ window_from: from, window_to: to }: Pick<Outcome, 'window_from' | 'window_to'>): Range => ({
  from,
  to,
});

/** Of verdicts that have none: empty lists. */
export type JudgedVerdict = StoredVerdict & VerdictReasons;
const reasons = sql`, coalesce(reasons, '{}') AS reasons, coalesce(unhealed_calls, '{}') AS unhealed`;

/** The latest verdict of each window, oldest first; only those that are `of` a kind. Verdicts of an earlier ledger prove nothing. */
const latestOf = (db: Queryable, which: Sql, of = sql`true`) =>
  readVerdicts<JudgedVerdict>(db, reasons)`WHERE verdict_id IN (SELECT max(verdict_id) FROM verdicts
        WHERE ledger_epoch = (SELECT max(epoch) FROM epochs) AND ${which}
        GROUP BY warehouse, axis, window_from, window_to) AND ${of} ORDER BY verdict_id`;

const overlaps = ({ from, to }: Range) => sql`window_to > ${toTimestamp(from)} AND window_from < ${toTimestamp(to)}`;

/** The latest verdicts of windows whose proof was withdrawn, of the present ledger. */
export const withdrawnVerdicts = (db: Queryable, axis: string, warehouses: readonly string[]) =>
  latestOf(db, sql`axis = ${axis} AND warehouse = ANY(${warehouses})`, sql`compared_by = ${comparedByNone}`);

/** The latest verdict of each window that overlaps a range, per warehouse. */
export const latestVerdicts = (db: Queryable, range: Range) => latestOf(db, overlaps(range));

/** Counts of the listings for the same hours of the four previous weeks. */
export const listedInEarlierWeeks = async (db: Queryable, window: { axis: string; from: number; to: number }) => {
  const starts = [7, 14, 21, 28].map((days) => window.from - days * dayMicros);
  return await db.column<number>`SELECT max(calls_listed) AS listed FROM verdicts
      WHERE axis = ${window.axis} AND window_to - window_from = ${window.to - window.from} * interval '1 microsecond'
        AND window_from = ANY(SELECT ${toTimestamp('t')} FROM unnest(${starts}::float8[]) AS t)
      GROUP BY window_from`;
};

const page = 2_000;

/** Every verdict on a warehouse, oldest first, read in pages. */
export async function* allVerdicts(db: Queryable, warehouse: string): AsyncGenerator<StoredVerdict> {
  const pages = readPages<StoredVerdict>(page, (last) => {
    const after = last?.verdict_id ?? 0;
    return readVerdicts(db)`WHERE warehouse = ${warehouse} AND verdict_id > ${after} ORDER BY verdict_id LIMIT ${page}`;
  });
  for await (const verdicts of pages) yield* verdicts;
}

async function* verdictEntries(db: Queryable, keys: ProofKeys, warehouse: string): AsyncGenerator<ChainEntry> {
  for await (const verdict of allVerdicts(db, warehouse)) {
    const { verdict_id: id, previous_digest: previous, digest } = verdict;
    yield { id, previous, digest, expected: digestVerdict(keys, verdict) };
  }
}

/** Verifies the chain of every warehouse that has, or by its recorded head had, verdicts. */
export const verifyVerdictChain = async (db: Store): Promise<ChainCheck[]> => {
  const { keys, headsFile } = db.erasures.proof;
  const rows = await db.query<{ warehouse: string }>`SELECT DISTINCT warehouse FROM verdicts`;
  const heads = await readChainHeads(headsFile);
  const warehouses = new Set([...rows, ...heads].map(({ warehouse }) => warehouse));
  return await Promise.all(
    [...warehouses].sort().map(async (name) => {
      const expired = await readMeta<string>(db, `verdicts_after:${name}`);
      return await checkChain(heads, name, verdictEntries(db, keys, name), expired ?? null);
    }),
  );
};

/** A sentence about verdicts of a range that were altered, signed with an unknown key, or removed after they withdrew proof. */
export const describeAltered = async (db: Store, range: Range): Promise<string | undefined> => {
  const ids = (await verifyVerdictChain(db)).flatMap(({ broken }) => broken);
  const altered = await db.query<{ warehouse: string; ids: string }>`
      SELECT warehouse, string_agg(verdict_id::text, ', ' ORDER BY verdict_id) AS ids FROM verdicts
       WHERE verdict_id = ANY(${ids}) AND ${overlaps(range)} GROUP BY 1 ORDER BY 1`;
  const of = altered.map((one) => `${one.warehouse} (${one.ids})`);
  const judged = await db.query<Record<'name' | 'axis', string>>`
      SELECT DISTINCT warehouse AS name, axis FROM verdicts WHERE ${overlaps(range)} ORDER BY 1, 2`;
  for (const { name, axis } of judged)
    if ((await readProven(db, name, { axis, range, level: {} })).isCut) of.push(`${name} (some are gone)`);
  return of.length === 0 ? undefined : `Verdicts were altered, or signed with an unknown key: ${of.join('; ')}.`;
};

// The ranges that verdicts prove: folded, oldest first, by one rule for every reader.

export type VerdictOutcome = 'proven' | 'healed' | 'unproven' | 'suspicious_empty';

/** Fields of a verdict about its range. Times in microseconds since the epoch. */
interface Outcome {
  readonly warehouse: string;
  readonly axis: string;
  readonly window_from: number;
  readonly window_to: number;
  /** Level of the comparison with the service. */
  readonly level: SourceLevel;
  /** Level of the comparison in the warehouse. */
  readonly warehouse_level: WarehouseLevel;
  readonly outcome: VerdictOutcome;
}

/** Whether nothing was left to be healed. */
export const isGood = ({ outcome }: Pick<Outcome, 'outcome'>): boolean => outcome === 'proven' || outcome === 'healed';

/** The least that must have been compared. */
export type ProofLevel = { readonly source?: SourceLevel | undefined; readonly warehouse?: WarehouseLevel | undefined };

const sourceRank: Readonly<Record<SourceLevel, number>> = { ids: 0, fields: 1, records: 2 };
const warehouseRank: Readonly<Record<WarehouseLevel, number>> = { guards: 0, rows: 1 };

type Judged = Omit<Outcome, 'warehouse' | 'axis'>;

/**
 * Unites the ranges that verdicts prove, at least at a level. A later bad verdict ends an earlier proof, also at a
 * lower level. A later good verdict of a lower level changes nothing.
 * @param verdicts of one warehouse and axis, oldest first.
 * @param before ranges that earlier verdicts proved at the same level.
 */
export const provenRanges = (verdicts: readonly Judged[], level: ProofLevel = {}, before: readonly Range[] = []) => {
  let proven: Range[] = [...before];
  for (const verdict of verdicts) {
    const window = windowOf(verdict);
    const reachesLevel =
      sourceRank[verdict.level] >= sourceRank[level.source ?? 'ids'] &&
      warehouseRank[verdict.warehouse_level] >= warehouseRank[level.warehouse ?? 'guards'];
    if (!isGood(verdict)) proven = subtract(proven, [window]);
    else if (reachesLevel) proven = unite([...proven, window]);
  }
  return proven;
};

/** Verdicts of the present ledger, oldest first. A verdict that somebody altered or added proves nothing. */
const readSigned = async (db: Queryable, { erasures }: Store, which: Sql) => {
  const stored = await readVerdicts(db)`
      WHERE ledger_epoch = (SELECT max(epoch) FROM epochs) AND ${which} ORDER BY verdict_id`;
  return stored.map((one) => ({ ...one, isAltered: digestVerdict(erasures.proof.keys, one) !== one.digest }));
};

type AskedProof = Readonly<{ axis: string; range: Range; warehouses: readonly string[]; level: ProofLevel }>;

/** Parts of a range without a good verdict at a level, per warehouse, in the present ledger. */
export const findUnproven = async (store: Store, { warehouses, ...asked }: AskedProof) => {
  const unproven: Record<string, Range[]> = {};
  for (const name of warehouses)
    unproven[name] = subtract([asked.range], (await readProven(store, name, asked)).proven);
  return unproven;
};

/** `isCut` = the verdicts prove more than their fold: others, which withdrew proof, were altered or removed since. */
const readProven = async (store: Store, warehouse: string, { axis, range, level }: Omit<AskedProof, 'warehouses'>) => {
  const { after, proven } = await readFold(store, store, warehouse);
  const which = sql`warehouse = ${warehouse} AND axis = ${axis} AND verdict_id <= ${after} AND ${overlaps(range)}`;
  // Of all levels, because a good verdict of a lower level takes nothing back.
  const signed = (await readSigned(store, store, which)).filter(({ isAltered }) => !isAltered);
  const [said, folded] = [provenRanges(signed, level), proven[axis] ?? []];
  return { proven: intersect(said, folded), isCut: subtract(said, folded).length > 0 };
};

/** Of these warehouses, those whose own tables do not have every verdict of the range yet. */
export const listBehind = async (store: Store, { axis, range, warehouses }: AskedProof): Promise<string[]> =>
  await store.column`SELECT DISTINCT warehouse FROM verdicts
      WHERE NOT loaded AND warehouse = ANY(${warehouses}) AND axis = ${axis} AND ${overlaps(range)} ORDER BY warehouse`;

/** Workers of an earlier build keep another fold beside it. */
const foldKey = (warehouse: string): string => `proven-signed:${warehouse}`;

/**
 * Folded from the verdicts of one warehouse, and kept with a signature: every heartbeat asks, and verdicts only grow.
 * `after` = number of the last verdict in it, whose axis is `axis`; `proven` = ranges by axis. An altered fold is made
 * anew, and one whose last verdict is gone from behind earlier ones begins without proof.
 */
const readFold = async (db: Queryable, store: Store, warehouse: string) => {
  const none = { warehouse, epoch: 0, after: 0, axis: null as string | null, proven: {} as Proven };
  const [keyId = '', digest = '', text = ''] = `${await readMeta(db, foldKey(warehouse))}`.split('\n');
  const kept: typeof none = store.erasures.proof.keys.sign(keyId, text) === digest ? JSON.parse(text) : none;
  const { epoch, last } = await db.row<{ epoch: number; last: number | null }>`
      SELECT coalesce(max(epoch), 0) AS epoch, (SELECT max(verdict_id) FROM verdicts
              WHERE warehouse = ${warehouse} AND verdict_id <= ${kept.after}) AS last FROM epochs`;
  const end = kept.warehouse === warehouse && kept.epoch === epoch ? (last ?? kept.after) : 0;
  const before = end > 0 && end === kept.after ? kept : { ...none, epoch, after: end };
  const fresh = await readSigned(db, store, sql`warehouse = ${warehouse} AND verdict_id > ${end}`);
  const { verdict_id: after, axis } = fresh.at(-1) ?? { verdict_id: end, axis: before.axis };
  return { ...before, after, axis, proven: foldVerdicts(before.proven, fresh), isNew: fresh.length > 0 };
};

type Proven = Record<string, readonly Range[]>;

/** A verdict that was altered, or is gone from before a later one, may have withdrawn all. */
const foldVerdicts = (before: Proven, fresh: Awaited<ReturnType<typeof readSigned>>): Proven => {
  let proven = { ...before };
  for (const [at, one] of fresh.entries()) {
    if (one.isAltered || (at > 0 && one.previous_digest !== fresh[at - 1]?.digest)) proven = {};
    if (!one.isAltered) proven[one.axis] = provenRanges([one], {}, proven[one.axis]);
  }
  return proven;
};

/**
 * Keeps the fold. Under the lock of the chain, because withdrawals change it too.
 * @param without days that are not proven any more, also by expired verdicts, which nothing else withdraws.
 */
const foldProven = async (tx: Transaction, store: Store, warehouse: string, without: readonly Range[] = []) => {
  await lockChain(tx, warehouse);
  const { keys } = store.erasures.proof;
  const { isNew, ...fold } = await readFold(tx, store, warehouse);
  for (const [name, ranges] of Object.entries(fold.proven)) fold.proven[name] = subtract(ranges, without);
  const text = JSON.stringify(fold);
  if (isNew || without.length > 0)
    await writeMeta(tx, foldKey(warehouse), [keys.currentId, keys.sign(keys.currentId, text), text].join('\n'));
  return fold;
};

/**
 * How far one warehouse is proven, by verdicts of the present ledger.
 * `axis` = of the newest verdict; null before the first.
 * `through` = microseconds: end of the gapless proof from the first read window on, or null.
 */
export const readProvenThrough = (store: Store, warehouse: string) =>
  store.transaction(async (tx) => {
    const { axis, proven } = await foldProven(tx, store, warehouse);
    const begun = await firstReadInstant(tx);
    const first = proven[axis ?? '']?.find(({ from, to }) => begun !== undefined && from <= begun && to > begun);
    return { axis, through: first?.to ?? null };
  });
