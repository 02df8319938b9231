/** The ranges that verdicts prove: folded, oldest first, by one rule for every reader. */
import type { Range, SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { subtract, unite } from '../../lib/intervals.ts';
import { readColumn, type Transaction } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { readMeta, writeMeta } from '../meta.ts';
import type { Store } from '../store.ts';
import { lockChain } from './chain.ts';
import { firstReadInstant } from './windows.ts';

export type VerdictOutcome = 'proven' | 'healed' | 'unproven' | 'suspicious_empty';

/** Of a verdict, what says which range it proves or takes back. Times in microseconds since the epoch. */
export interface Outcome {
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
export interface ProofLevel {
  readonly source?: SourceLevel | undefined;
  readonly warehouse?: WarehouseLevel | undefined;
}

const sourceRank: Readonly<Record<SourceLevel, number>> = { ids: 0, fields: 1, records: 2 };
const warehouseRank: Readonly<Record<WarehouseLevel, number>> = { guards: 0, rows: 1 };

/**
 * Unites the ranges that verdicts prove, at least at a level. A later bad verdict ends an earlier proof, also at a
 * lower level. A later good verdict of a lower level changes nothing.
 * @param verdicts of one warehouse and axis, oldest first.
 * @param before ranges that earlier verdicts proved at the same level.
 */
export const provenRanges = (
  verdicts: readonly Omit<Outcome, 'warehouse' | 'axis'>[],
  level: ProofLevel = {},
  before: readonly Range[] = [],
): Range[] => {
  let proven: Range[] = [...before];
  for (const verdict of verdicts) {
    const window = { from: verdict.window_from, to: verdict.window_to };
    const reachesLevel =
      sourceRank[verdict.level] >= sourceRank[level.source ?? 'ids'] &&
      warehouseRank[verdict.warehouse_level] >= warehouseRank[level.warehouse ?? 'guards'];
    if (!isGood(verdict)) proven = subtract(proven, [window]);
    else if (reachesLevel) proven = unite([...proven, window]);
  }
  return proven;
};

/** Parts of a range without a good verdict at a level, per warehouse, in the present ledger. */
export const findUnproven = async (
  store: Store,
  input: {
    readonly axis: string;
    readonly range: Range;
    readonly warehouses: readonly string[];
    readonly level: ProofLevel;
  },
): Promise<Record<string, Range[]>> => {
  const verdicts = await readOutcomes(store, input.range);
  return Object.fromEntries(
    input.warehouses.map((name) => {
      const mine = verdicts.filter(({ warehouse, axis }) => warehouse === name && axis === input.axis);
      return [name, subtract([input.range], provenRanges(mine, input.level))];
    }),
  );
};

/** Of these warehouses, those whose own tables do not have every verdict of the range yet. */
export const listBehind = async (
  store: Store,
  { axis, range, warehouses }: { readonly axis: string; readonly range: Range; readonly warehouses: readonly string[] },
): Promise<string[]> => {
  return await readColumn<string>(
    store,
    `SELECT DISTINCT warehouse FROM verdicts
      WHERE NOT loaded AND warehouse = ANY($1) AND axis = $2
        AND window_to > ${toTimestamp('$3')} AND window_from < ${toTimestamp('$4')}
      ORDER BY warehouse`,
    [warehouses, axis, range.from, range.to],
  );
};

interface ProvenThrough {
  /** Of the newest verdict; null before the first. */
  readonly axis: string | null;
  /** Microseconds: end of the gapless proof from the first read window on, or null. */
  readonly through: number | null;
}

/** Folded from the verdicts of one warehouse, and kept: every heartbeat of a warehouse asks, and verdicts only grow. */
interface ProvenFold {
  readonly epoch: number;
  /** Number of the last verdict that is in it. */
  readonly after: number;
  /** Of the newest verdict. */
  readonly axis: string | null;
  /** By axis. */
  readonly proven: Readonly<Record<string, readonly Range[]>>;
}

const foldKey = (warehouse: string): string => `proven:${warehouse}`;

/**
 * How far one warehouse is proven, by verdicts of the present ledger: it reads those that came since it was last asked. Under the lock of
 * the chain: what takes verdicts back changes the fold too.
 */
export const readProvenThrough = (store: Store, warehouse: string): Promise<ProvenThrough> =>
  store.transaction(async (tx) => {
    await lockChain(tx, warehouse);
    const epoch = await store.epoch(tx);
    const kept = await readMeta<ProvenFold>(tx, foldKey(warehouse));
    const before = kept?.epoch === epoch ? kept : { epoch, after: 0, axis: null, proven: {} };
    const fresh = await tx.query<Outcome & { id: number }>(
      `SELECT verdict_id AS id, ${outcomeColumns} FROM verdicts
        WHERE warehouse = $1 AND ledger_epoch = $2 AND verdict_id > $3 ORDER BY verdict_id`,
      [warehouse, epoch, before.after],
    );
    const { id: after, axis } = fresh.at(-1) ?? { id: before.after, axis: before.axis };
    const byAxis: Record<string, readonly Range[]> = { ...before.proven };
    for (const one of fresh) byAxis[one.axis] = provenRanges([one], {}, byAxis[one.axis]);
    const fold: ProvenFold = { epoch, after, axis, proven: byAxis };
    if (fresh.length > 0) await writeMeta(tx, foldKey(warehouse), fold);
    const begun = await firstReadInstant(tx);
    const proven = axis === null ? [] : (byAxis[axis] ?? []);
    const first = proven.find(({ from, to }) => begun !== undefined && from <= begun && to > begun);
    return { axis, through: first?.to ?? null };
  });

const outcomeColumns = `warehouse, axis, ${toMicros('window_from')} AS window_from, ${toMicros('window_to')} AS window_to,
            outcome, level, warehouse_level`;

/** Oldest first; all of them, because a good verdict of a lower level takes nothing back. */
const readOutcomes = async (store: Store, range: Range): Promise<Outcome[]> =>
  await store.query<Outcome>(
    `SELECT ${outcomeColumns} FROM verdicts
      WHERE ledger_epoch = (SELECT max(epoch) FROM epochs)
        AND window_to > ${toTimestamp('$1')} AND window_from < ${toTimestamp('$2')}
      ORDER BY verdict_id`,
    [range.from, range.to],
  );

/** Takes days out of what is proven of a warehouse, by verdicts that have expired too: nothing else takes those back. */
export const withdrawProven = async (tx: Transaction, warehouse: string, days: readonly Range[]): Promise<void> => {
  const fold = await readMeta<ProvenFold>(tx, foldKey(warehouse));
  if (fold === undefined) return;
  const proven = Object.entries(fold.proven).map(([axis, ranges]) => [axis, subtract(ranges, days)]);
  await writeMeta(tx, foldKey(warehouse), { ...fold, proven: Object.fromEntries(proven) });
};
