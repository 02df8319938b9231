/** What the status page shows, read from the store and from Temporal. Each part is read at most as often as it changes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type BackfillProgress, progressQuery } from '../../../workflows/messages.ts';
import { readCoverage } from '../../coverage/read-coverage.ts';
import { type SharedReading, shareReading } from '../../metrics/shared-reading.ts';
import type {
  DayVerdict,
  PageBackfill,
  PageDay,
  PageState,
  UsedLimit,
  WaitingRow,
} from '../../operations/page/page-state.ts';
import { requestLimitRules } from '../../source/source.ts';
import { listEvents } from '../../store/status/events.ts';
import { readStoreGauges, type StoreGauges } from '../../store/status/gauges.ts';
import { measureLatency } from '../../store/status/latency.ts';
import { latestVerdicts } from '../../store/windows/verdicts.ts';
import { backfillHandle } from '../../temporal/workflow-client.ts';
import { listBackfills } from '../list-backfills.ts';
import { readVersion } from '../version.ts';
import { shareOf } from '../watch-backfill.ts';
import type { Parts } from './open-parts.ts';
import { limitSpanMs } from './open-source.ts';
import type { Services } from './services.ts';
import { readUsages } from './watch-parts.ts';

const shownDays = 35;
const shownEvents = 40;
const shownBackfills = 12;
const day = 86_400_000_000;
/** The calendar counts the calls of its days, which takes a while where there are millions. */
const slowly = { cacheMs: 20_000, deadlineMs: 30_000 };

/** What waits in the spool of a receiver. */
export interface SpoolDepth {
  readonly records: number;
  readonly oldest: Date | undefined;
}

export interface PageReader {
  readState(): Promise<PageState>;
  readVerdicts(warehouse: string, day: string): Promise<readonly DayVerdict[]>;
}

export const createPageReader = (
  services: Services,
  { store, targets, temporal }: Pick<Parts, 'store' | 'targets' | 'temporal'>,
  readSpool?: () => SpoolDepth,
): PageReader => {
  const warehouses = targets.map(({ warehouse }) => warehouse.name);
  const rules = requestLimitRules(services.config.source);
  const gauges = shareReading(() => readStoreGauges(store, { warehouses, limitSpanMs: limitSpanMs(rules) }), {
    cacheMs: 1_000,
  });
  const events = shareReading(() => listEvents(store, shownEvents), { cacheMs: 1_000 });
  const latency = shareReading(() => measureLatency(store, warehouses), { cacheMs: 10_000 });
  const usages = shareReading(() => readUsages(targets));
  const backfills = shareReading(() => readBackfills(services, temporal), { cacheMs: 1_000, deadlineMs: 5_000 });
  const coverage = shareReading(() => {
    const now = Date.now() * 1000;
    const from = Math.floor(now / day) * day - (shownDays - 1) * day;
    return readCoverage(store, { range: { from, to: now }, warehouses, now });
  }, slowly);

  const readState = async (): Promise<PageState> => {
    const [seen, days, measured, used, running, happened] = await Promise.all([
      gauges.read(),
      readUnlessSlow(coverage),
      latency.read(),
      usages.read(),
      backfills.read(),
      events.read(),
    ]);
    return {
      at: Date.now(),
      version: readVersion(),
      storeAnswers: seen !== undefined,
      sync: seen?.sync ?? null,
      calls: seen?.calls ?? 0,
      openProblems: seen?.openProblems ?? 0,
      warehouses: (seen?.warehouses ?? []).map((one) => ({
        ...one,
        days: (days?.days ?? []).map(
          (cell): PageDay => ({
            date: new Date(cell.from / 1000).toISOString().slice(0, 10),
            state: cell.byWarehouse[one.name] ?? 'unread',
            calls: cell.deliveries.calls,
          }),
        ),
      })),
      // The spool fills when the store is away: it is told also then.
      waiting: [
        ...(readSpool === undefined ? [] : [describeSpool(readSpool())]),
        ...(seen === undefined ? [] : describeWaiting(seen)),
      ],
      funnel: measured ?? [],
      ways: days?.deliveries ?? { both: 0, pollOnly: 0, webhookOnly: 0, importOnly: 0 },
      backfills: running ?? null,
      limits: [
        {
          what: 'Requests to the service',
          used: seen?.grantedRequests ?? 0,
          limit: rules.requests,
          note: `in any ${rules.perMs / 1000} s, by all workers`,
        },
        ...(used ?? []).map(
          ({ warehouse, jobs, nextCommitInMs }): UsedLimit => ({
            what: `Load jobs of ${warehouse}`,
            used: jobs.used,
            limit: Number.isFinite(jobs.limit) ? jobs.limit : null,
            note: `in 24 h; next commit ${nextCommitInMs === 0 ? 'at once' : `in ${Math.ceil(nextCommitInMs / 1000)} s`}`,
          }),
        ),
      ],
      events: happened ?? [],
    };
  };

  return {
    readState,
    readVerdicts: async (warehouse, date) => {
      const from = Date.parse(date) * 1000;
      const verdicts = await latestVerdicts(store, { from, to: from + day });
      return verdicts
        .filter((one) => one.warehouse === warehouse)
        .map((one) => ({
          from: one.window_from / 1000,
          to: one.window_to / 1000,
          outcome: one.outcome,
          level: `${one.level}, ${one.warehouse_level}`,
          listed: one.calls_listed,
          found: one.calls_found,
          keptOut: one.kept_out ?? null,
          missing: one.missing,
          different: one.different,
          healed: one.healed,
          comparedAt: one.compared_at / 1000,
        }));
    },
  };
};

/** The first time it is waited for a moment; a page that is drawn without it gets it with its next update. */
const readUnlessSlow = async <T>(reading: SharedReading<T>): Promise<T | undefined> =>
  await Promise.race([reading.read(), delay(1_000, undefined, { ref: false })]);

const describeSpool = ({ records, oldest }: SpoolDepth): WaitingRow => ({
  what: 'Spool',
  count: records,
  oldestAge: oldest === undefined ? null : Math.max(0, (Date.now() - oldest.getTime()) / 1_000),
  command: 'callsync doctor',
});

const describeWaiting = ({ inbox, quarantine, rereads, openProblems }: StoreGauges): WaitingRow[] => [
  { what: 'Inbox', ...inbox, command: 'callsync status' },
  { what: 'Quarantine', ...quarantine, command: 'callsync quarantine list' },
  { what: 'Rereads', ...rereads, command: 'callsync status' },
  { what: 'Windows with a problem', count: openProblems, oldestAge: null, command: 'callsync status' },
];

const readBackfills = async (services: Services, { client, uiUrl }: Parts['temporal']): Promise<PageBackfill[]> => {
  const { task_queue: prefix, namespace } = services.config.temporal;
  const listed = (await listBackfills(client, prefix)).slice(0, shownBackfills);
  return await Promise.all(
    listed.map(async ({ name, status, startedAt }) => {
      const { workflowId } = backfillHandle(client, prefix, name);
      const link =
        uiUrl === undefined
          ? null
          : `${uiUrl.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
      return {
        name,
        status,
        startedAt,
        link,
        progress: status === 'RUNNING' ? await askProgress(client, workflowId) : null,
      };
    }),
  );
};

/** Null where no worker answers in time. */
const askProgress = async (client: Client, workflowId: string): Promise<PageBackfill['progress']> => {
  const asked = client.withDeadline(Date.now() + 1_500, () =>
    client.workflow.getHandle(workflowId).query(progressQuery),
  );
  return await asked.then(describeProgress).catch(() => null);
};

const describeProgress = (progress: BackfillProgress): NonNullable<PageBackfill['progress']> => {
  const { state, totals, startedAt } = progress;
  const share = shareOf(progress);
  const seconds = Math.max(0.001, (Date.now() - startedAt) / 1000);
  const secondsLeft = state === 'running' && share > 0.01 ? (seconds / share) * (1 - share) : null;
  return {
    state,
    share,
    windows: totals.windows,
    calls: totals.calls,
    callsPerSecond: totals.calls / seconds,
    secondsLeft,
  };
};
