/** The state that the page shows, and its headline. Ages and durations in seconds, instants in milliseconds since the epoch. */
import { countOf } from '../../lib/count-of.ts';
import type { TimelineEvent } from '../../store/status/events.ts';
import { judge, type Readings, type Wrong } from '../conditions.ts';
import type { CoverageState } from '../coverage/coverage.ts';
import type { StepLatency, Waiting } from '../read-health.ts';
import { formatSpan } from './html.ts';

export interface PageState {
  readonly at: number;
  readonly version: string;
  /** Null while the operational store does not answer. */
  readonly health: Readings | null;
  /** By warehouse, oldest first. */
  readonly days: Readonly<Record<string, readonly PageDay[]>>;
  /** Deliveries that the receiver of this process keeps on disk; null without a receiver. */
  readonly spool: Waiting | null;
  readonly funnel: readonly StepLatency[];
  readonly ways: {
    readonly both: number;
    readonly pollOnly: number;
    readonly webhookOnly: number;
    readonly importOnly: number;
  };
  /** Null while Temporal does not answer. */
  readonly backfills: readonly PageBackfill[] | null;
  readonly limits: readonly UsedLimit[];
  readonly events: readonly TimelineEvent[];
}

export interface PageDay {
  /** `YYYY-MM-DD`, UTC. */
  readonly date: string;
  readonly state: CoverageState;
  readonly calls: number;
}

export interface PageBackfill {
  readonly name: string;
  /** Of the workflow: `RUNNING`, `COMPLETED`, … */
  readonly status: string;
  readonly startedAt: string;
  readonly link: string | null;
  /** Null where no worker answers, or the backfill has ended. */
  readonly progress: {
    readonly state: 'running' | 'paused' | 'done';
    readonly share: number;
    readonly windows: number;
    readonly calls: number;
    readonly callsPerSecond: number;
    readonly secondsLeft: number | null;
  } | null;
}

export interface UsedLimit {
  readonly what: string;
  readonly used: number;
  /** Null where nothing limits it. */
  readonly limit: number | null;
  readonly note: string;
}

interface Summary {
  readonly mood: 'good' | 'working' | 'delayed' | 'action';
  /** `On time`, `Attention`, … */
  readonly word: string;
  /** Progress, while nothing is wrong. */
  readonly sentence: string | null;
  /** Everything that is wrong, the worst first. */
  readonly wrong: readonly Pick<Wrong, 'summary' | 'since' | 'command'>[];
}

/** The worst thing that is wrong decides, in whatever part it is. */
export const sumUp = (state: PageState): Summary => {
  const { health, days } = state;
  if (health === null) {
    const away = { summary: 'The operational store does not answer.', since: null, command: 'callsync doctor' };
    return { mood: 'action', word: 'Action required', sentence: null, wrong: [away] };
  }
  const wrong = judge(health);
  const [worst] = wrong;
  if (worst !== undefined) {
    const isAction = worst.isUrgent && worst.severity === 'critical';
    const [mood, word] = isAction ? (['action', 'Action required'] as const) : (['delayed', 'Attention'] as const);
    return { mood, word, sentence: null, wrong };
  }
  const progress = describeProgress(state.at, health, days);
  if (health.sync === null) {
    const sentence = `Continuous sync has not begun. ${progress}`;
    return { mood: 'working', word: 'Not started', sentence, wrong };
  }
  return { mood: 'good', word: 'On time', sentence: progress, wrong };
};

const describeProgress = (at: number, { warehouses }: Readings, days: PageState['days']): string => {
  const through = provenThrough(days);
  const newest = warehouses.map(({ newestVisible }) => newestVisible).filter((one) => one !== null);
  const age =
    newest.length === 0
      ? 'No call is visible yet'
      : `The newest visible call is ${formatSpan(Math.max(0, (at - Math.min(...newest)) / 1000))} old`;
  return `${age}; ${through === null ? describeGap(days) : `all is proven through ${through}`}.`;
};

const isProven = ({ state }: PageDay): boolean => state === 'proven' || state === 'healed';

/** The last day, `YYYY-MM-DD`, up to which every day that was read is proven in every warehouse. */
export const provenThrough = (days: PageState['days']): string | null => {
  const last = Object.values(days).map(lastProven);
  return last.includes(null) ? null : ((last as string[]).sort()[0] ?? null);
};

const lastProven = (days: readonly PageDay[]): string | null => {
  let last: string | null = null;
  for (const day of days) {
    if (isProven(day)) last = day.date;
    else if (last !== null || day.state !== 'unread') break;
  }
  return last;
};

/** Where some warehouse lacks a proof of the first day that was read. */
const describeGap = (days: PageState['days']): string => {
  const each = Object.values(days);
  const [first, ...others] = each.map((one) => one.filter(isProven).map(({ date }) => date));
  const proven = (first ?? []).filter((date) => others.every((dates) => dates.includes(date))).length;
  const gaps = each.flatMap((one) => one.find((day) => day.state !== 'unread' && !isProven(day))?.date ?? []);
  if (proven === 0) return 'no day is proven yet';
  return `${countOf(proven, 'day')} ${proven === 1 ? 'is' : 'are'} proven, but not ${gaps.sort()[0]} before`;
};
