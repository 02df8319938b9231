/** A simulated service, and an installation that reads it: store, warehouse and source, wired as a worker wires them. */
import type { Range, ReconcileRequest } from '../../../schemas/orchestration.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import type { planRereads } from '../../../src/pipeline/read/reread-windows.ts';
import { planReconcile, reconcileWindows } from '../../../src/pipeline/reconcile/plan-reconcile.ts';
import type { ReconcileDeps } from '../../../src/pipeline/reconcile/reconcile-window.ts';
import { startSimulator } from '../../../src/simulator/start-simulator.ts';
import { createSource } from '../../../src/source/source.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';
import { readPart, simulatedConfig } from '../../source/simulated.ts';
import { useOpened } from '../../support/opened.ts';
import { openPipeline } from '../../support/pipeline.ts';

const hour = 3_600_000_000;
export const day = 24 * hour;

type InstallationDeps = Parameters<typeof planRereads>[0] &
  ReconcileDeps & { readonly reconcile: Parameters<typeof planReconcile>[1] };

export type Installation = Awaited<ReturnType<typeof openInstallation>>;

/** Settings of daily comparisons. */
export const comparing: InstallationDeps['reconcile'] = {
  ...{ enabled: true, age: 2 * day, span: 60 * day, level: 'fields', backlogDays: 30, rowsDays: 0, interval: day },
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
  const source = createSource(
    await simulatedConfig(simulator, { list: { preset: 'activate' }, limits: { requests: 100_000, per_s: 1 } }),
  );
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
    /** @param by other dependencies than those of the installation */
    reconcile: async (request: ReconcileRequest = {}, by = deps, maxSeconds = 3_600) => {
      const plan = await planReconcile(by, by.reconcile, request);
      const options = { signal: new AbortController().signal, maxSeconds, onProgress: () => undefined };
      return (await reconcileWindows(by, plan, options)).totals;
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
