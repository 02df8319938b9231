/** The state that the page shows, its headline, and how it is read: each part at most as often as it changes. Ages and durations in seconds, instants in milliseconds since the epoch. */

import { setTimeout as delay } from 'node:timers/promises';
import { formatSpan } from '../../lib/count-of.ts';
import { beginOfDay, dateOf, dayMicros as day } from '../../lib/timestamps.ts';
import { listEvents } from '../../store/status/events.ts';
import type { Store } from '../../store/store.ts';
import { latestVerdicts, readProvenThrough, type StoredVerdict } from '../../store/windows/verdicts.ts';
import { judge, type Readings } from '../conditions.ts';
import { listDayRows, readCoverage } from '../coverage/coverage.ts';
import type { Reason } from '../coverage/why.ts';
import { type SharedReading, shareReading } from '../metrics/registry.ts';
import type { StepLatency, Waiting } from '../read-health.ts';

export type PageState = Awaited<ReturnType<PageReader['readState']>>;

export interface JudgedDay {
  readonly verdicts: readonly StoredVerdict[];
  readonly reasons: readonly Reason[];
}

export interface PageBackfill {
  readonly name: string;
  /** `running`, `paused`, `no worker answers`, `completed`, … */
  readonly state: string;
  readonly startedAt: string;
  readonly closedAt: string | null;
  /** Error of a failed run, or of the last failed attempt of a part that a running one waits for. */
  readonly error: string | null;
  readonly link: string | null;
  /** Null where no worker answers, or the backfill failed. */
  readonly progress: {
    readonly state: 'running' | 'paused' | 'done';
    readonly share: number;
    readonly startedAt: number;
    readonly totals: Readonly<Record<'windows' | 'calls', number>>;
  } | null;
}

/**
 * The worst fault of all parts decides.
 * `word` = `On time`, `Attention`, …
 * `sentence` = progress, while nothing is wrong.
 * `wrong` = everything that is wrong, the worst first.
 */
export const sumUp = (state: PageState) => {
  const { health, away } = state;
  if (health === null) {
    const wrong = [{ summary: 'The store does not answer.', since: away.store, command: 'callsync doctor' }];
    return { mood: 'action', word: 'Action required', sentence: null, wrong };
  }
  const alarms = judge(health);
  const noTemporal = { summary: 'Temporal does not answer.', since: away.temporal, command: 'callsync doctor' };
  const wrong = away.temporal !== null && state.at - away.temporal > patienceMs ? [noTemporal, ...alarms] : alarms;
  if (wrong.length > 0) {
    const isAction = alarms.some((one) => one.isUrgent && one.severity === 'critical');
    const [mood, word] = isAction ? (['action', 'Action required'] as const) : (['delayed', 'Attention'] as const);
    return { mood, word, sentence: null, wrong };
  }
  const progress = describeProgress(state, health);
  if (health.sync === null) {
    const sentence = `Continuous sync has not begun. ${progress}`;
    return { mood: 'working', word: 'Not started', sentence, wrong };
  }
  return { mood: 'good', word: 'On time', sentence: progress, wrong };
};

/** Temporal that is away for a shorter time is a slow answer. */
const patienceMs = 15_000;

const describeProgress = ({ at, provenThrough }: PageState, { warehouses }: Readings): string => {
  const newest = warehouses.map(({ newestVisible }) => newestVisible).filter((one) => one !== null);
  const age =
    newest.length === 0
      ? 'No call is visible yet'
      : `The newest visible call is ${formatSpan(Math.max(0, (at - Math.min(...newest)) / 1000))} old`;
  return `${age}; ${provenThrough === null ? 'the oldest day is not proven yet' : `all is proven through ${provenThrough}`}.`;
};

const shownDays = 35;
const shownEvents = 40;

export type PageReader = ReturnType<typeof createPageReader>;

/** Readings that are late become empty parts of the state. No promise rejects while the store or Temporal is away. */
export const createPageReader = (input: {
  readonly store: Store;
  readonly warehouses: readonly string[];
  readonly version: string;
  /** The request limit of the service. */
  readonly rules: { readonly perMs: number };
  readonly readHealth: () => Promise<Readings | undefined>;
  readonly latency: SharedReading<readonly StepLatency[]>;
  readonly readBackfills: () => Promise<readonly PageBackfill[]>;
  /** Why a day is not proven. @param day its start, in microseconds */
  readonly explain: (day: number) => Promise<readonly Reason[]>;
  /** Spool of the receiver in this process. */
  readonly readSpool: (() => Waiting) | undefined;
}) => {
  const { store, warehouses, rules } = input;
  const proven = shareReading(() => readProven(store, warehouses), { cacheMs: 10_000 });
  const events = shareReading(() => listEvents(store, shownEvents), { cacheMs: 1_000 });
  const backfills = shareReading(input.readBackfills, { cacheMs: 1_000, deadlineMs: 5_000 });
  // Reused, because counting the calls of the shown days is slow with millions of calls.
  const coverage = shareReading(
    () => {
      const now = Date.now() * 1000;
      const from = beginOfDay(now) - (shownDays - 1) * day;
      return readCoverage(store, { range: { from, to: now }, warehouses, now, webhooksSince: now });
    },
    { cacheMs: 20_000, deadlineMs: 30_000 },
  );

  const since = { store: lasting(), temporal: lasting() };
  const readState = async () => {
    const [health, covered, through, measured, running, happened] = await Promise.all([
      input.readHealth(),
      readUnlessSlow(coverage),
      proven(),
      input.latency(),
      backfills(),
      events(),
    ]);
    const at = Date.now();
    return {
      at,
      version: input.version,
      /** Null while the store does not answer. */
      health: health ?? null,
      /** Since when store and Temporal do not answer; null while they do. */
      away: { store: since.store(health === undefined, at), temporal: since.temporal(running === undefined, at) },
      warehouses,
      /** Oldest first. */
      days: covered === undefined ? [] : listDayRows(covered),
      provenThrough: through ?? null,
      /** Deliveries that the receiver of this process keeps on disk, shown also while the store is away; null without a receiver. */
      spool: input.readSpool?.() ?? null,
      funnel: measured ?? [],
      /** Null while Temporal does not answer. */
      backfills: running ?? null,
      /** To the service, by all workers. */
      requestsAMinute: ((health?.grantedRequests ?? 0) * 60_000) / rules.perMs,
      events: happened ?? [],
    };
  };

  return {
    readState,
    /** The verdicts of a day, and why it is not proven. @param day `YYYY-MM-DD`. */
    readDay: async (warehouse: string, date: string): Promise<JudgedDay> => {
      const from = Date.parse(date) * 1000;
      const verdicts = await latestVerdicts(store, { from, to: from + day });
      const reasons = await input.explain(from);
      return {
        verdicts: verdicts.filter((one) => one.warehouse === warehouse),
        reasons: reasons.filter((one) => one.warehouse === null || one.warehouse === warehouse),
      };
    },
  };
};

/** Remembers when something began to hold. */
const lasting = () => {
  let since: number | null = null;
  return (holds: boolean, at: number): number | null => {
    since = holds ? (since ?? at) : null;
    return since;
  };
};

/** Last day (`YYYY-MM-DD`) of the gapless proof in every warehouse; null before the first. */
export const readProven = async (store: Store, warehouses: readonly string[]): Promise<string | null> => {
  const ends = await Promise.all(warehouses.map(async (name) => (await readProvenThrough(store, name)).through));
  const end = Math.min(...ends.map((one) => one ?? 0));
  return end < day || !Number.isFinite(end) ? null : dateOf((Math.floor(end / day) - 1) * (day / 1000));
};

/** The first request waits a moment for the reading. A page without it gets it with the next update. */
const readUnlessSlow = async <T>(reading: SharedReading<T>): Promise<T | undefined> =>
  await Promise.race([reading(), delay(1_000, undefined, { ref: false })]);
