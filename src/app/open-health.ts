/** The readings of health that a process shares: its metrics, its page and its watch ask the store through them. */
import type { Config } from '../../schemas/config.ts';
import type { Readings } from '../health/conditions.ts';
import { explainDay } from '../health/coverage/why.ts';
import { shareReading } from '../health/metrics/registry.ts';
import { openChannels } from '../health/notifications/channels.ts';
import { queueDigest } from '../health/notifications/digest.ts';
import { watchHealth } from '../health/notifications/watch.ts';
import { measureLatency, type NamedUsage, readHealth, readProofs } from '../health/read-health.ts';
import { readVersion } from '../lib/find-built.ts';
import { beginOfDay, nowMicros } from '../lib/timestamps.ts';
import type { WarehouseTarget } from '../pipeline/deps.ts';
import type { Queryable } from '../postgres/database.ts';
import { limitSpanMs } from '../source/http/limiter.ts';
import { requestLimitRules } from '../source/source.ts';
import type { Store } from '../store/store.ts';
import type { Services } from './services.ts';

/** Windows older than this count in no gauge; `callsync coverage` and `callsync verdicts` show them. */
const verdictDays = 92;

export const openHealth = (config: Config, store: Store, targets: readonly WarehouseTarget[]) => {
  const warehouses = targets.map(({ warehouse }) => warehouse.name);
  const input = { warehouses, limitSpanMs: limitSpanMs(requestLimitRules(config.source)) };
  const health = shareReading(() => readHealth(store, input), { cacheMs: 1_000 });
  // Verdicts are given once in minutes, and Prometheus usually scrapes once in this time.
  const proofs = shareReading(() => readProofs(store, { warehouses, days: verdictDays }), { cacheMs: 30_000 });
  const latency = shareReading(() => measureLatency(store, warehouses), { cacheMs: 10_000 });
  const usages = shareReading(() => readUsages(targets));
  const rateOf = createRate();
  return {
    health,
    proofs,
    latency,
    usages,
    /** All of them together; undefined while the store does not answer. */
    read: async (): Promise<Readings | undefined> => {
      const [seen, proven, used] = await Promise.all([health(), proofs(), usages()]);
      const more = { proofs: proven, usages: used, syncEvery: config.sync.interval / 1000 };
      return seen && { ...seen, ...more, callsPerMinute: rateOf(seen.at, seen.calls + seen.tombstones) };
    },
  };
};

/** Growth a minute over the last minutes. The watch reads often enough; readings in quick succession count once. */
const createRate = () => {
  const seen: { readonly at: number; readonly value: number }[] = [];
  return (at: number, value: number): number | null => {
    if (at - (seen.at(-1)?.at ?? 0) >= 5_000) seen.push({ at, value });
    while (at - (seen[0]?.at ?? at) > 300_000) seen.shift();
    const [first] = seen;
    return first === undefined || at === first.at
      ? null
      : (60_000 * Math.max(0, value - first.value)) / (at - first.at);
  };
};

/** One reading for a command that shows the state once: it rejects where the store does not answer. */
export const readNow = async (config: Config, store: Queryable): Promise<Readings> => {
  const warehouses = Object.keys(config.warehouses);
  const proofs = await readProofs(store, { warehouses, days: verdictDays });
  return { ...(await readHealth(store, { warehouses })), proofs, syncEvery: config.sync.interval / 1000 };
};

/** Why a day is not proven; none when it is. @param at any instant of the UTC day, in microseconds */
export const explain = async (config: Config, store: Queryable, at: number) =>
  await explainDay(store, {
    day: beginOfDay(at),
    now: nowMicros(),
    readings: await readNow(config, store),
    warehouses: Object.keys(config.warehouses),
    comparedAfter: config.sync.reconcile.enabled ? config.sync.reconcile.age * 1000 : null,
  });

/** Usage of every warehouse with a quota. */
export const readUsages = async (targets: readonly Pick<WarehouseTarget, 'warehouse'>[]) => {
  const usages: NamedUsage[] = [];
  for (const { warehouse } of targets) {
    const usage = await warehouse.pace?.readUsage();
    if (usage !== undefined) usages.push({ ...usage, warehouse: warehouse.name });
  }
  return usages;
};

/** Keeps the timeline and tells the configured channels, until the services are closed. */
export const openHealthWatch = (services: Services, store: Store, { read }: ReturnType<typeof openHealth>): void => {
  const { notifications, warehouses, sync } = services.config;
  const opened = openChannels(notifications);
  const all = [...opened.keys()];
  const rules = notifications.rules.map(({ when: condition, after, channels = all }) => ({
    condition,
    after,
    channels,
  }));
  const weekly = {
    ...{ channels: all, warehouses: Object.keys(warehouses), version: readVersion(), pageUrl: notifications.page_url },
    comparedAfter: sync.reconcile.age * 1000,
  };
  const queueMore = async (): Promise<void> => {
    if (notifications.digest) await queueDigest(store, weekly);
  };
  services.defer(watchHealth({ store, read, channels: opened, rules, queueMore, log: services.log }));
};
