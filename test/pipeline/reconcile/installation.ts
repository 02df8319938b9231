/** A simulated service, and an installation that reads it: store, warehouse and source, wired as a worker wires them. */
import type { Range, ReconcileRequest } from '../../../schemas/orchestration.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import type { planRereads } from '../../../src/pipeline/read/reread-windows.ts';
import { planReconcile, reconcileWindows } from '../../../src/pipeline/reconcile/plan-reconcile.ts';
import type { ReconcileDeps } from '../../../src/pipeline/reconcile/reconcile-window.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';
import { readPart, simulatedSource } from '../../source/simulated.ts';
import { useOpened } from '../../support/opened.ts';
import { openPipeline } from '../../support/pipeline.ts';

export const day = 86_400_000_000;

/** The beginning of a day, so many days ago. */
export const midnight = (daysAgo: number): string =>
  new Date((Math.floor(Date.now() / 86_400_000) - daysAgo) * 86_400_000).toISOString();

type InstallationDeps = Parameters<typeof planRereads>[0] &
  ReconcileDeps & { readonly reconcile: Parameters<typeof planReconcile>[1] };

export type Installation = Awaited<ReturnType<typeof openInstallation>>;

/** Settings of daily comparisons. */
export const comparing: InstallationDeps['reconcile'] = {
  ...{ enabled: true, age: 2 * day, span: 60 * day, level: 'fields', backlogDays: 30 },
  ...{ rowsDays: 0, interval: day, settle: 0 },
};

/** @param options.warehouse in place of the PostgreSQL one, under the name `main`; migrated. */
export const openInstallation = async (options: {
  readonly simulator: SimulatorOptions;
  readonly warehouse?: Warehouse;
}) => {
  const pipeline = await openPipeline();
  const { warehouse = pipeline.warehouse } = options;
  const target = { ...pipeline.target, warehouse };
  const simulator = await startSimulator({ rateLimit: { requests: 0 }, ...options.simulator });
  const source = await simulatedSource(simulator, { list: { preset: 'activate' }, limits: { requests: 100_000 } });
  let now: number | undefined;
  const deps: InstallationDeps = {
    ...pipeline.deps,
    targets: [target],
    source,
    now: () => new Date(now ?? Date.now()),
    windows: { initial: day, min: 1_000_000, max: 30 * day, targetCalls: 1_000 },
    reread: { horizon: undefined, share: 0.999, delay: day, maxHorizon: 90 * day, sample: 0.05 },
    reconcile: comparing,
    version: 'test',
  };
  const range = {
    from: Math.floor((Date.parse(simulator.range.from) * 1000) / day) * day,
    to: Math.ceil((Date.parse(simulator.range.to) * 1000) / day) * day + 10 * day,
  };
  return {
    ...pipeline,
    warehouse,
    target,
    drain: (of = target) => pipeline.drain(of),
    simulator,
    deps,
    range,
    /** Installation time, in milliseconds; real time unless set. */
    setNow: (ms: number | undefined) => {
      now = ms;
    },
    backfill: async (part: Range = range) => (await readPart(deps, { axis: 'qualified', range: part })).totals,
    merge: () => pipeline.merge(deps),
    /** As a ledger and a warehouse `main` that have never heard of these calls. */
    forget: async (ids: readonly string[]) => {
      for (const table of ['ledger', 'ledger_documents', 'warehouse_calls', 'wh_main.calls'])
        await pipeline.query(`DELETE FROM ${table} WHERE call_id = ANY($1)`, [ids]);
    },
    /** @param by other dependencies than those of the installation */
    reconcile: async (request: ReconcileRequest = {}, by = deps, maxSeconds = 3_600) => {
      const options = { signal: new AbortController().signal, maxSeconds, onProgress: () => undefined };
      return (await reconcileWindows(by, await planReconcile(by, by.reconcile, request), options)).totals;
    },
    close: async () => {
      await source.close();
      await simulator.stop();
      await pipeline.close();
    },
  };
};

/** An installation for the tests of a group; it can be used from `beforeAll` on. */
export const useInstallation = (simulator: SimulatorOptions): Installation =>
  useOpened(() => openInstallation({ simulator }));
