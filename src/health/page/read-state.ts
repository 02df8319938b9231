/** Reads the state that the page shows. Each part is read at most as often as it changes. */

import { setTimeout as delay } from 'node:timers/promises';
import { dayMicros as day } from '../../lib/day.ts';
import type { Queryable } from '../../postgres/database.ts';
import { listEvents } from '../../store/status/events.ts';
import { latestVerdicts, type StoredVerdict } from '../../store/windows/verdicts.ts';
import type { Readings } from '../conditions.ts';
import { readCoverage } from '../coverage/coverage.ts';
import { type SharedReading, shareReading } from '../metrics/registry.ts';
import { measureLatency, type Waiting } from '../read-health.ts';
import type { PageBackfill, PageDay, PageState, UsedLimit } from './state.ts';

const shownDays = 35;
const shownEvents = 40;

export interface PageReader {
  readState(): Promise<PageState>;
  /** @param day `YYYY-MM-DD`. */
  readVerdicts(warehouse: string, day: string): Promise<readonly StoredVerdict[]>;
}

interface PageUsage {
  readonly warehouse: string;
  readonly jobs: { readonly used: number; readonly limit: number };
  readonly nextCommitInMs: number;
}

/** Readings that do not come in time are empty parts of the state; nothing rejects because the store or Temporal is away. */
export const createPageReader = (input: {
  readonly store: Queryable;
  readonly warehouses: readonly string[];
  readonly version: string;
  /** The request limit of the service. */
  readonly rules: { readonly requests: number; readonly perMs: number };
  readonly readHealth: () => Promise<Readings | undefined>;
  readonly usages: SharedReading<readonly PageUsage[]>;
  readonly readBackfills: () => Promise<readonly PageBackfill[]>;
  /** Of the receiver in this process. */
  readonly readSpool: (() => Waiting) | undefined;
}): PageReader => {
  const { store, warehouses, rules, usages } = input;
  const events = shareReading(() => listEvents(store, shownEvents), { cacheMs: 1_000 });
  const latency = shareReading(() => measureLatency(store, warehouses), { cacheMs: 10_000 });
  const backfills = shareReading(input.readBackfills, { cacheMs: 1_000, deadlineMs: 5_000 });
  // It counts the calls of the shown days, which takes a while where there are millions.
  const coverage = shareReading(
    () => {
      const now = Date.now() * 1000;
      const from = Math.floor(now / day) * day - (shownDays - 1) * day;
      return readCoverage(store, { range: { from, to: now }, warehouses, now, webhooksSince: now });
    },
    { cacheMs: 20_000, deadlineMs: 30_000 },
  );

  const readState = async (): Promise<PageState> => {
    const [health, covered, measured, used, running, happened] = await Promise.all([
      input.readHealth(),
      readUnlessSlow(coverage),
      latency.read(),
      usages.read(),
      backfills.read(),
      events.read(),
    ]);
    const daysOf = (warehouse: string): PageDay[] =>
      (covered?.days ?? []).map((cell) => ({
        date: new Date(cell.from / 1000).toISOString().slice(0, 10),
        state: cell.byWarehouse[warehouse] ?? 'unread',
        calls: cell.deliveries.calls,
      }));
    return {
      at: Date.now(),
      version: input.version,
      health: health ?? null,
      days: Object.fromEntries(warehouses.map((name) => [name, daysOf(name)])),
      // The spool fills when the store is away: it is told also then.
      spool: input.readSpool?.() ?? null,
      funnel: measured ?? [],
      ways: covered?.deliveries ?? { both: 0, pollOnly: 0, webhookOnly: 0, importOnly: 0 },
      backfills: running ?? null,
      limits: [
        {
          what: 'Requests to the service',
          used: health?.grantedRequests ?? 0,
          limit: rules.requests,
          note: `in any ${rules.perMs / 1000} s, by all workers`,
        },
        ...(used ?? []).map(describeUsage),
      ],
      events: happened ?? [],
    };
  };

  return {
    readState,
    readVerdicts: async (warehouse, date) => {
      const from = Date.parse(date) * 1000;
      const verdicts = await latestVerdicts(store, { from, to: from + day });
      return verdicts.filter((one) => one.warehouse === warehouse);
    },
  };
};

/** The first time it is waited for a moment; a page that is drawn without it gets it with its next update. */
const readUnlessSlow = async <T>(reading: SharedReading<T>): Promise<T | undefined> =>
  await Promise.race([reading.read(), delay(1_000, undefined, { ref: false })]);

const describeUsage = ({ warehouse, jobs, nextCommitInMs }: PageUsage): UsedLimit => ({
  what: `Load jobs of ${warehouse}`,
  used: jobs.used,
  limit: Number.isFinite(jobs.limit) ? jobs.limit : null,
  note: `in 24 h; next commit ${nextCommitInMs === 0 ? 'at once' : `in ${Math.ceil(nextCommitInMs / 1000)} s`}`,
});
