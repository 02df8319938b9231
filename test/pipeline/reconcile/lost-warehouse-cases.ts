/**
 * A warehouse that was lost, restored or emptied is proven again only after a new comparison. Sampled every 100 ms,
 * neither `await` nor its marts say otherwise.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { analyticsConfigSchema } from '../../../schemas/config/analytics.ts';
import type { Range } from '../../../schemas/orchestration.ts';
import { martSettings } from '../../../src/marts/mart.ts';
import { renderViews } from '../../../src/marts/render-views.ts';
import { checkBeforeLoad, createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { keepSyncState, loadPendingBatch } from '../../../src/pipeline/load/load-pending.ts';
import { chooseAxis } from '../../../src/pipeline/read/choose-axis.ts';
import { rereadCalls } from '../../../src/pipeline/read/reread-windows.ts';
import { lookAtProof } from '../../../src/pipeline/reconcile/look-at-proof.ts';
import { checkTruth } from '../../../src/simulator/demo/check-truth.ts';
import { markPending } from '../../../src/store/loads/loads.ts';
import { forgetHeartbeat } from '../../../src/store/status/state-row.ts';
import type { Place } from '../../../src/warehouse/kind.ts';
import { requireFrom } from '../../../src/warehouse/warehouse.ts';
import { backUp } from '../../support/backup.ts';
import { useOpened } from '../../support/opened.ts';
import { column } from '../../support/rows.ts';
import type { Installation } from './installation.ts';

export interface LossSite {
  readonly here: Installation;
  readonly place: Place;
  /** Statements by hand, past callsync. */
  execute(sql: string): Promise<unknown>;
  /** All tables and marts. */
  drop(): Promise<unknown>;
}

/** Opens an installation whose calls are read; `losses` are tried on it one after another. */
export const describeLosses = (open: () => Promise<LossSite>) => {
  const site = useOpened(open, ({ here }) => here.close());
  const table = (name: string): string => site.place.relation(site.place.tables, name);
  const mart = (): string => site.place.relation(site.place.marts, 'completeness_daily');
  const ensureMarts = () => {
    const views = renderViews(site.place, martSettings(analyticsConfigSchema.parse({})));
    return requireFrom(site.here.warehouse, 'marts').ensure(site.place.marts, views);
  };
  const numbers = async (sql: string): Promise<Record<string, number>> => {
    const [row = {}] = await site.here.warehouse.query(sql);
    return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]));
  };
  /** The answer of `await`. */
  const isProven = async (range: Range): Promise<boolean> => {
    const { store, deps, warehouse } = site.here;
    const axis = chooseAxis(deps.source.list.list, deps.processedField)?.axis ?? '';
    return (await lookAtProof(store, { axis, range, warehouses: [warehouse], level: {} })).proven;
  };
  /** The answer of `await`; days in the mart, and rows in the tables of calls, of one moment. */
  const sample = async () => {
    const proven = await isProven(site.here.range);
    const rows = ['calls', 'utterances', 'tags', 'contacts', 'metadata'].map(table);
    const sql = `SELECT ${rows.map((name) => `(SELECT count(*) FROM ${name})`).join(' + ')} AS total,
      (SELECT count(*) FROM ${mart()} WHERE completeness = 'proven') AS days`;
    // Tables or marts are missing.
    const found = await numbers(sql).catch(() => ({}) as Record<string, number>);
    return { proven, provenDays: found.days ?? 0, rows: found.total ?? 0 };
  };
  const saySyncState = async (): Promise<void> => {
    await forgetHeartbeat(site.here.store, 'main');
    await keepSyncState(site.here.deps, site.here.target);
  };
  /** Compares what is not proven, and tells the warehouse. */
  const reconcile = async (more: { readonly force?: true } = {}): Promise<void> => {
    await site.here.drain();
    await site.here.reconcile({ ...more, acceptEmpty: true });
    await site.here.drain();
    await saySyncState();
  };
  const prove = async (): Promise<void> => {
    await ensureMarts();
    await reconcile({ force: true });
  };
  /** As a worker does at its start. */
  const notice = async (): Promise<void> => {
    const { store, warehouse } = site.here;
    const check = createLedgerCheck({ store, warehouses: [warehouse], say: () => undefined });
    await checkBeforeLoad(warehouse, check).migrate();
    await check.run();
  };
  /** Looks every 100 ms while `work` goes on. */
  const watchWhile = async (look: () => Promise<void>, work: () => Promise<void>): Promise<void> => {
    const working = work();
    const isOver = () => Promise.race([working.then(() => true), delay(100, false)]);
    do await look();
    while (!(await isOver()));
  };

  beforeAll(async () => {
    const { here } = site;
    const middle = (here.range.from + here.range.to) / 2;
    for (const part of [{ to: middle }, { from: middle }]) {
      await here.backfill({ ...here.range, ...part });
      await here.drain();
    }
  });

  const losses: Record<string, () => Promise<unknown>> = {
    'was dropped': () => site.drop(),
    'was emptied': () =>
      site.execute(`DELETE FROM ${table('calls')} WHERE TRUE; DELETE FROM ${table('utterances')} WHERE TRUE;`),
    'was restored as it was after its first load, and loaded since': async () => {
      await site.execute(`DELETE FROM ${table('verdicts')} WHERE TRUE;
        DELETE FROM ${table('loads')} WHERE loaded_at > (SELECT min(loaded_at) FROM ${table('loads')});
        DELETE FROM ${table('calls')} WHERE load_id NOT IN (SELECT load_id FROM ${table('loads')});`);
      const { here } = site;
      const ids = await column<string>(here.store, 'SELECT call_id FROM ledger WHERE NOT tombstone LIMIT 1');
      await here.store.transaction((tx) => markPending(tx, ids));
      await loadPendingBatch(here.deps, here.target, { origin: 'pending' });
    },
    'lost table metadata': () => {
      const cascade = site.here.warehouse.traits.kind === 'postgres' ? ' CASCADE' : '';
      return site.execute(`DROP TABLE ${table('metadata')}${cascade}`);
    },
  };
  for (const name of ['utterances', 'tags', 'contacts'])
    losses[`lost all ${name}`] = () => site.execute(`DELETE FROM ${table(name)} WHERE TRUE`);

  test.each(Object.entries(losses))('a warehouse that %s is never proven while rows are missing', async (_, lose) => {
    const { here } = site;
    await prove();
    const { proven, provenDays, rows } = await sample();
    expect(proven).toBe(true);
    expect(provenDays).toBeGreaterThan(10);

    await lose();
    expect((await sample()).rows).toBeLessThan(rows);
    const wrong: unknown[] = [];
    let isTold = false;
    const look = async () => {
      const told = isTold;
      const found = await sample();
      // Its own marts know with the first load that comes after the loss was noticed.
      if (found.proven || (told && found.rows < rows && found.provenDays > 0)) wrong.push(found);
    };
    await look();
    await watchWhile(look, async () => {
      await notice();
      await ensureMarts();
      for (;;) {
        const loaded = await loadPendingBatch(here.deps, here.target, { origin: 'pending' });
        isTold = true;
        await look();
        if (loaded === undefined) break;
        await saySyncState();
      }
    });
    expect(wrong).toEqual([]);
    expect(await sample()).toMatchObject({ proven: false, rows });
    await reconcile();
    expect(await sample()).toMatchObject({ proven: true, rows });
  });

  test('a ledger that was restored while calls moved to another day is never proven while a row is wrong', async () => {
    const { here } = site;
    await prove();
    const restore = await backUp(here.store.pool, 'callsync');
    const patch = { timestamp: '2026-01-28T12:00:00Z' };
    const moved = await here.simulator.edit({ random: 20, seed: 3, patch, requalify: false });
    await here.backfill();
    await here.drain();
    await restore();
    const wrongSql = `SELECT count(*) - count(DISTINCT call_id) AS twice,
        count(CASE WHEN call_timestamp <> TIMESTAMP '2026-01-28 12:00:00+00' THEN 1 END) AS stale
      FROM ${table('calls')} WHERE call_id IN (${moved.map(({ callId }) => `'${callId}'`).join(', ')})`;
    const countWrong = async (): Promise<number> => {
      const { twice = 0, stale = 0 } = await numbers(wrongSql);
      return twice + stale;
    };
    const wrong: unknown[] = [];
    let seenWrong = 0;
    const look = async () => {
      // Rows first: what is right later may be proven later.
      const n = await countWrong();
      const found = await sample();
      seenWrong = Math.max(seenWrong, n);
      if (n > 0 && (found.proven || found.provenDays > 0) && (await countWrong()) > 0) wrong.push({ n, ...found });
    };
    await watchWhile(look, async () => {
      await notice();
      for (let loaded: unknown = true; loaded !== undefined; await look())
        loaded = await loadPendingBatch(here.deps, here.target, { origin: 'pending' });
      await rereadCalls(here.deps, new AbortController().signal);
      await reconcile();
    });
    expect(seenWrong).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
    expect(await countWrong()).toBe(0);
    expect(await sample()).toMatchObject({ proven: true });
    const isListed = ({ status }: { status: string }) => ['qualified', 'void'].includes(status);
    const truth = await checkTruth(here.simulator, here.warehouse, isListed);
    expect(truth).toMatchObject({ lost: 0, stale: 0, mismatched: 0, duplicated: 0 });
  });
  return { site, prove, sample, isProven, saySyncState };
};
