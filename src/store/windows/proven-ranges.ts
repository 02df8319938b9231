/** What of a range has a good verdict: from the store alone; neither the service nor a warehouse is asked. */
import type { Range, SourceLevel, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { subtract, unite } from '../../lib/intervals.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';
import { readMeta, writeMeta } from '../meta.ts';
import type { Store } from '../store.ts';
import type { Verdict } from './verdicts.ts';
import { firstReadInstant } from './windows.ts';

/** The least that must have been compared. */
export interface ProofLevel {
  readonly source?: SourceLevel | undefined;
  readonly warehouse?: WarehouseLevel | undefined;
}

const sourceRank: Readonly<Record<SourceLevel, number>> = { ids: 0, fields: 1, records: 2 };
const warehouseRank: Readonly<Record<WarehouseLevel, number>> = { guards: 0, rows: 1 };

/**
 * The ranges that verdicts prove, at least at a level, united. A later verdict that is not good takes back what an
 * earlier one proved, also one of a lower level; a later good one of a lower level takes nothing back.
 * @param verdicts of one warehouse and axis, oldest first. @param before what earlier verdicts proved at the same level.
 */
export const provenRanges = (
  verdicts: readonly Pick<Verdict, 'window_from' | 'window_to' | 'outcome' | 'level' | 'warehouse_level'>[],
  level: ProofLevel = {},
  before: readonly Range[] = [],
): Range[] => {
  let proven: Range[] = [...before];
  for (const verdict of verdicts) {
    const window = { from: verdict.window_from, to: verdict.window_to };
    const isGood = verdict.outcome === 'proven' || verdict.outcome === 'healed';
    const reachesLevel =
      sourceRank[verdict.level] >= sourceRank[level.source ?? 'ids'] &&
      warehouseRank[verdict.warehouse_level] >= warehouseRank[level.warehouse ?? 'guards'];
    if (!isGood) proven = subtract(proven, [window]);
    else if (reachesLevel) proven = unite([...proven, window]);
  }
  return proven;
};

/** What of a range has no good verdict at a level, per warehouse, by verdicts of the present ledger. */
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
  const rows = await store.query<{ warehouse: string }>(
    `SELECT DISTINCT warehouse FROM verdicts
      WHERE NOT loaded AND warehouse = ANY($1) AND axis = $2
        AND window_to > ${toTimestamp('$3')} AND window_from < ${toTimestamp('$4')}
      ORDER BY warehouse`,
    [warehouses, axis, range.from, range.to],
  );
  return rows.map(({ warehouse }) => warehouse);
};

export interface ProvenThrough {
  /** Of the newest verdict; null before the first. */
  readonly axis: string | null;
  /** Microseconds: the end of what is proven without a gap from the first read window on; null while it is not. */
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

/** How far one warehouse is proven, by verdicts of the present ledger: it reads those that came since it was last asked. */
export const readProvenThrough = async (store: Store, warehouse: string): Promise<ProvenThrough> => {
  const key = `proven:${warehouse}`;
  const [{ epoch = 0 } = {}] = await store.query<{ epoch: number }>(
    'SELECT coalesce(max(epoch), 0) AS epoch FROM epochs',
  );
  const kept = await readMeta<ProvenFold>(store, key);
  const before = kept?.epoch === epoch ? kept : { epoch, after: 0, axis: null, proven: {} };
  const fresh = await store.query<Outcome & { id: number }>(
    `SELECT verdict_id AS id, ${outcomeColumns} FROM verdicts
      WHERE warehouse = $1 AND ledger_epoch = $2 AND verdict_id > $3 ORDER BY verdict_id`,
    [warehouse, epoch, before.after],
  );
  const last = fresh.at(-1);
  const byAxis: Record<string, readonly Range[]> = { ...before.proven };
  for (const one of fresh) byAxis[one.axis] = provenRanges([one], {}, byAxis[one.axis]);
  const fold: ProvenFold = {
    epoch,
    after: last?.id ?? before.after,
    axis: last?.axis ?? before.axis,
    proven: byAxis,
  };
  // Another process may have kept more meanwhile: what it folded is then folded once more.
  if (last !== undefined) await writeMeta(store, key, fold);
  const begun = await firstReadInstant(store);
  const proven = fold.axis === null ? [] : (fold.proven[fold.axis] ?? []);
  const first = proven.find(({ from, to }) => begun !== undefined && from <= begun && to > begun);
  return { axis: fold.axis, through: first?.to ?? null };
};

type Outcome = Pick<
  Verdict,
  'warehouse' | 'axis' | 'window_from' | 'window_to' | 'outcome' | 'level' | 'warehouse_level'
>;

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
