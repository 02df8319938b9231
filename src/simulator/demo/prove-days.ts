/** Compares the settled days of the demo with the service, and breaks rows for a comparison to find. */
import type { Range, ReconcileTotals, WarehouseLevel } from '../../../schemas/orchestration.ts';
import { emptyReconcileTotals } from '../../../schemas/orchestration.ts';
import { type ReconcileProgress, reconcileProgressQuery } from '../../../workflows/messages.ts';
import type { Services } from '../../app/services.ts';
import { openTemporal } from '../../app/temporal.ts';
import { followWorkflow } from '../../cli/shell/follow.ts';
import { renderTable } from '../../cli/shell/output.ts';
import { intersect, lengthOf, unite } from '../../lib/intervals.ts';
import { say } from '../../lib/say.ts';
import { dateOf, dayMicros } from '../../lib/timestamps.ts';
import { toTimestamp } from '../../postgres/database.ts';
import type { Store } from '../../store/store.ts';
import { isGood, latestVerdicts, windowOf } from '../../store/windows/verdicts.ts';
import { startReconcile } from '../../temporal/workflow-client.ts';

/** Proof of the settled days in one warehouse. */
type DemoProof = Awaited<ReturnType<typeof readProof>>;

interface Work {
  readonly services: Services;
  readonly store: Store;
  /** Whole UTC days. */
  readonly range: Range;
  readonly level: WarehouseLevel;
}

const shownDays = 5;

/** Compares the days of the range. */
export const reconcileDays = async ({ services, range, level }: Work): Promise<ReconcileTotals> => {
  const { client, prefix } = await openTemporal(services);
  let totals: ReconcileTotals = emptyReconcileTotals;
  let shown = '';
  const show = (progress: ReconcileProgress): void => {
    ({ totals } = progress);
    const line = `${progress.done} of ${(range.to - range.from) / dayMicros} days compared: ${totals.different} calls different, ${totals.missing} missing, ${totals.healedCalls} healed`;
    if (line !== shown) say(line);
    shown = line;
  };
  const request = { range, warehouseLevel: level };
  const handle = await startReconcile(client, prefix, { name: `demo-${Date.now()}`, request });
  const followed = await followWorkflow<ReconcileProgress, ReconcileProgress>(handle, {
    what: 'reconciliation',
    look: { query: reconcileProgressQuery, show },
  });
  if (followed.ended) show(followed.result);
  return totals;
};

/** Reads the proof from the verdicts, so that the line never claims more than callsync recorded. */
export const readProof = async ({ store, range, level }: Work, warehouse: string) => {
  // The schedule may have compared a day as well, by rows, which says more than guards.
  const verdicts = (await latestVerdicts(store, range))
    .filter((one) => one.warehouse === warehouse && [level, 'rows'].includes(one.warehouse_level))
    .sort((a, b) => b.window_from - a.window_from);
  const good = verdicts.filter(isGood);
  return {
    warehouse,
    days: (range.to - range.from) / dayMicros,
    // One comparison looks at all days before the first call together.
    proven: lengthOf(intersect([range], unite(good.map(windowOf)))) / dayMicros,
    /** Calls in the warehouse on proven days. */
    calls: good.reduce((sum, one) => sum + one.calls_found + one.healed, 0),
    level,
    /** The newest days. */
    newest: verdicts.slice(0, shownDays).map((one) => ({
      day: dateOf(one.window_from / 1_000),
      listed: one.calls_listed,
      found: one.calls_found,
      verdict: one.outcome,
    })),
  };
};

/** A table of the newest days, and the line that says how many are proven. */
export const renderProof = ({ warehouse, days, proven, calls, level, newest }: DemoProof): string =>
  [
    renderTable(newest),
    `proven: ${proven} of ${days} settled days, ${calls} calls, in ${warehouse} (${level} compared)`,
  ].join('\n');

export const brokenRows = { altered: 20, deleted: 5 } as const;

/**
 * Alters and deletes rows behind callsync's back, on days of the range. Healing a call withdraws the proof of both its
 * days. If it had two, the day that was compared first would stay unproven.
 * @returns counts the rows that are as before, whether the demo or the schedule healed them
 */
export const breakRows = async ({ store, range }: Work): Promise<() => Promise<number>> => {
  const { altered, deleted } = brokenRows;
  const chosen = await store.query<{ id: string; duration: number | null }>`
    SELECT call_id AS id, duration FROM calls.calls
     WHERE call_timestamp >= ${toTimestamp(range.from)} AND call_timestamp < ${toTimestamp(range.to)}
       AND date_trunc('day', call_timestamp, 'UTC') = date_trunc('day', processed_at, 'UTC')
     ORDER BY call_id LIMIT ${altered + deleted}`;
  const ids = chosen.map(({ id }) => id);
  await store.transaction(async (tx) => {
    await tx.query`DELETE FROM calls.calls WHERE call_id = ANY(${ids.slice(0, deleted)})`;
    await tx.query`UPDATE calls.calls SET duration = coalesce(duration, 0) + 1 WHERE call_id = ANY(${ids.slice(deleted)})`;
  });
  return () =>
    store.value<number>`
      SELECT count(*)::int FROM calls.calls c
        JOIN unnest(${ids}::text[], ${chosen.map(({ duration }) => duration)}::float8[]) AS o (call_id, duration)
             USING (call_id)
       WHERE c.duration IS NOT DISTINCT FROM o.duration`;
};
