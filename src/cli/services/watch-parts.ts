/** The gauges and counters of a process that works: what its parts count, and what the store says. */
import type { Registry } from 'prom-client';
import { shareReading } from '../../metrics/shared-reading.ts';
import { watchSource } from '../../metrics/source-metrics.ts';
import { watchStore, watchUsage } from '../../metrics/store-gauges.ts';
import { createWorkMetrics } from '../../metrics/work-metrics.ts';
import type { WarehouseTarget, WorkObserver } from '../../pipeline/deps.ts';
import { requestLimitRules, type Source } from '../../source/source.ts';
import { readStoreGauges, readVerdictGauges } from '../../store/status/gauges.ts';
import type { Store } from '../../store/store.ts';
import type { WarehouseUsage } from '../../warehouse/warehouse.ts';
import { limitSpanMs } from './open-source.ts';
import type { Services } from './services.ts';

/** Verdicts are given once in minutes, and Prometheus usually scrapes once in this time. */
const verdictsCacheMs = 15_000;
/** Windows older than this count in no gauge; `callsync coverage` and `callsync verdicts` show them. */
export const verdictDays = 92;

export const watchParts = (
  services: Services,
  registry: Registry,
  {
    store,
    targets,
    source,
  }: { readonly store: Store; readonly targets: readonly WarehouseTarget[]; readonly source: Source },
): WorkObserver => {
  const warehouses = targets.map(({ warehouse }) => warehouse.name);
  const rules = requestLimitRules(services.config.source);
  watchSource(registry, source);
  watchStore(
    registry,
    {
      store: shareReading(() => readStoreGauges(store, { warehouses, limitSpanMs: limitSpanMs(rules) })),
      verdicts: shareReading(() => readVerdictGauges(store, { warehouses, days: verdictDays }), {
        cacheMs: verdictsCacheMs,
      }),
    },
    { requestsAllowed: rules.requests },
  );
  watchUsage(
    registry,
    shareReading(() => readUsages(targets)),
  );
  return createWorkMetrics(registry);
};

/** Of the warehouses that have a quota. */
export const readUsages = async (
  targets: readonly WarehouseTarget[],
): Promise<readonly (WarehouseUsage & { readonly warehouse: string })[]> => {
  const usages: (WarehouseUsage & { readonly warehouse: string })[] = [];
  for (const { warehouse } of targets) {
    const usage = await warehouse.readUsage?.();
    if (usage !== undefined) usages.push({ ...usage, warehouse: warehouse.name });
  }
  return usages;
};
